//go:build tools

// Package tools names the mains of this group, so that `go mod tidy` keeps what they need.
package tools

import (
	_ "sigs.k8s.io/kustomize/kustomize/v5"
)
