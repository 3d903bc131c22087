// Says what Go makes of patterns: reads [{"entry": "a.*", "names": ["app"]}] and writes, for each, null where
// regexp.Compile refuses "^" + entry + "$", else for each name whether it matches.
package main

import (
	"encoding/json"
	"os"
	"regexp"
)

func main() {
	var questions []struct {
		Entry string
		Names []string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&questions); err != nil {
		panic(err)
	}
	answers := make([][]bool, len(questions))
	for i, question := range questions {
		pattern, err := regexp.Compile("^" + question.Entry + "$")
		if err != nil {
			continue
		}
		answers[i] = []bool{}
		for _, name := range question.Names {
			answers[i] = append(answers[i], pattern.MatchString(name))
		}
	}
	if err := json.NewEncoder(os.Stdout).Encode(answers); err != nil {
		panic(err)
	}
}
