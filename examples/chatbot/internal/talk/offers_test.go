package talk

import (
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
)

func TestAddressee(t *testing.T) {
	servers := []adapter.ServerStatus{{Name: "my"}, {Name: "my files"}, {Name: "x"}}
	for argument, want := range map[string]string{
		"file:///a":              "|file:///a",
		"@my file:///a":          "my|file:///a",
		"@my files file:///a":    "my files|file:///a",
		"@my files":              "my files|",
		"@my  evening city=Rome": "my|evening city=Rome",
		"@myfiles file:///a":     "no server with resources is called myfiles file:///a",
		"@":                      "no server with resources is called ",
	} {
		server, rest, err := addressee(servers, "resources", argument)
		got := "|" + rest
		switch {
		case err != nil:
			got = err.Error()
		case server != nil:
			got = server.Name + got
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", argument, got, want)
		}
	}
}
