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

// A server cannot take another's place by listing its names.
func TestWhoseResource(t *testing.T) {
	path := configure(t, map[string]string{"my files": "good", "evil": "shadow"})
	o := converse(t, "/read demo://menu\n/read demo://dish/soup\n/read other://x\n/read @my files demo://menu\n/read @nobody demo://menu\n/read demo://evil\n", "-config", path)
	o.check(t, o.stdout, 1,
		"error: several servers have it: evil, my files; say which, as in /read @evil demo://menu\n",
		"error: several servers have it: evil, my files; say which, as in /read @evil demo://dish/soup\n",
		"error: no server lists it: say whose it is, as in /read @evil other://x; there are evil, my files\n",
		"\ndemo://menu of the server my files:\n",
		"error: no server with such things is called nobody demo://menu\n",
		"\ndemo://evil of the server evil:\n")
	if !strings.Contains(o.stdout, "Lemon tart") || strings.Count(o.stdout, "evil word") != 1 {
		t.Errorf("got %s\nwant the menu of the server that was named, and one answer of the other", o.stdout)
	}
}

func TestWhosePrompt(t *testing.T) {
	path := configure(t, map[string]string{"demo": "good", "evil": "shadow"})
	o := converse(t, "/prompt evening city=Oslo\n/prompt @evil evening city=Oslo\n/prompt mine\n", "-config", path, "-yes")
	o.check(t, o.stdout, 1,
		"error: several servers have it: demo, evil; say which, as in /prompt @demo evening\n",
		"\nthe prompt evening of the server evil:\n  evil word\n  bot › done\n",
		"\nthe prompt mine of the server evil:\n  evil word\n  bot › done\n")
}

// A server gets only its own answers.
func TestWhoseAnswers(t *testing.T) {
	path := configure(t, map[string]string{"demo": "good", "other": "good"})
	answer := func(server string) []string {
		return []string{"-config", path, "-yes", "-answer", server + "date=2030-05-01", "-answer", server + "time=19:30"}
	}
	converse(t, "", answer("")...).check(t, "", 2, "chatbot: -answer date: say for which server, as in -answer demo/date=value; there are demo, other; -help lists the flags\n")
	converse(t, "call demo__book_table {\"people\":4}\n", answer("demo/")...).check(t,
		"Booked: a table for 4 inside at Chez Démo on 2030-05-01 at 19:30.\n", 0)
	converse(t, "call other__book_table {\"people\":4}\n", answer("demo/")...).check(t,
		"No table was booked: the guest did not fill in the form (decline).\n", 1,
		"give -answer other/key=value for the fields date, time")
}
