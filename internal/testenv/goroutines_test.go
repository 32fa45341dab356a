package testenv

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

func TestAllStacks(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	const many = 5000
	for range many {
		go await(end)
	}
	check.Equal(t, "goroutines", strings.Count(allStacks(), "testenv.await("), many)
}

func await(end chan struct{}) { <-end }
