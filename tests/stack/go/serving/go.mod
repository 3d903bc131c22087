module confroll.test/serving

go 1.26.0

require knative.dev/serving v0.47.0
