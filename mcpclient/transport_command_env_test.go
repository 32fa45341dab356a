package mcpclient

import (
	"slices"
	"strings"
	"testing"
)

// TestCommandEnvironment shows that a server is given no secret of this process
// unless it is asked for.
func TestCommandEnvironment(t *testing.T) {
	own := []string{"PATH=/bin", "OPENAI_API_KEY=sk-1", "AWS_SECRET_ACCESS_KEY=x", "LC_ALL=C", "SHELL=() { evil; }"}
	if got, want := (&Command{Env: []string{"TOKEN=t", "PATH=/usr/bin"}}).environment(own), []string{"PATH=/bin", "LC_ALL=C", "TOKEN=t", "PATH=/usr/bin"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (&Command{InheritEnv: true, Env: []string{"A=b"}}).environment(own); len(got) != len(own)+1 {
		t.Errorf("with InheritEnv: got %q, want everything", got)
	}
	if got := new(Command).environment([]string{"A=b"}); got == nil || len(got) != 0 {
		t.Errorf("got %#v, want an empty environment and not nil, which means all", got)
	}
}

func TestCommandWithArgumentsInItsPath(t *testing.T) {
	_, err := (&Command{Path: "npx -y some-server"}).Dial(t.Context())
	if err == nil || !strings.Contains(err.Error(), "arguments belong in Args") {
		t.Errorf("got %v, want a hint about Args", err)
	}
}
