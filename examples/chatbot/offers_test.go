package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

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
		"@myfiles file:///a":     "no server with such things is called myfiles file:///a",
		"@":                      "no server with such things is called ",
	} {
		server, rest, err := addressee(servers, argument)
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

func TestAnswersOfServers(t *testing.T) {
	for name, tt := range map[string]struct {
		given   answers
		servers []string
		want    map[string]answers
		err     string
	}{
		"one server":       {answers{"date": "1", "a/time": "2"}, []string{"a"}, map[string]answers{"a": {"date": "1", "time": "2"}}, ""},
		"two":              {answers{"a/date": "1", "b/date": "2"}, []string{"a", "b"}, map[string]answers{"a": {"date": "1"}, "b": {"date": "2"}}, ""},
		"names alike":      {answers{"a/b/date": "1", "a/time": "2"}, []string{"a/b", "a"}, map[string]answers{"a/b": {"date": "1"}, "a": {"time": "2"}}, ""},
		"field of a slash": {answers{"x/y": "1"}, []string{"a"}, map[string]answers{"a": {"x/y": "1"}}, ""},
		"no field":         {answers{"a/": "1"}, []string{"a", "b"}, nil, "-answer a/: say for which server, as in -answer a/a/=value"},
		"whose":            {answers{"date": "1"}, []string{"a", "b"}, nil, "-answer date: say for which server"},
		"twice":            {answers{"date": "1", "a/date": "2"}, []string{"a"}, nil, "-answer: the field date of the server a is there twice"},
		"no servers":       {answers{"date": "1"}, nil, map[string]answers{"": {"date": "1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.given.of(tt.servers)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
			if (err != nil) != (tt.err != "") || err != nil && !strings.HasPrefix(err.Error(), tt.err) {
				t.Errorf("got %v, want %s", err, tt.err)
			}
		})
	}
}
