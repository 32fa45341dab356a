package answers

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// TestExample names a field that the form needs.
func TestExample(t *testing.T) {
	note, size := &forms.Field{Name: "note"}, &forms.Field{Name: "size", Required: true}
	for want, fields := range map[string][]*forms.Field{"size": {note, size}, "note": {note}} {
		check.Equal(t, "", (Answers{}).Fill(fields).Example(), want)
	}
}

func TestAnswersOfServers(t *testing.T) {
	for name, tt := range map[string]struct {
		given   Answers
		servers []string
		want    map[string]Answers
		err     string
	}{
		"one server":       {Answers{"date": "1", "a/time": "2"}, []string{"a"}, map[string]Answers{"a": {"date": "1", "time": "2"}}, ""},
		"two":              {Answers{"a/date": "1", "b/date": "2"}, []string{"a", "b"}, map[string]Answers{"a": {"date": "1"}, "b": {"date": "2"}}, ""},
		"names alike":      {Answers{"a/b/date": "1", "a/time": "2"}, []string{"a/b", "a"}, map[string]Answers{"a/b": {"date": "1"}, "a": {"time": "2"}}, ""},
		"field of a slash": {Answers{"x/y": "1"}, []string{"a"}, map[string]Answers{"a": {"x/y": "1"}}, ""},
		"no field":         {Answers{"a/": "1"}, []string{"a", "b"}, nil, "-answer a/: say for which server, as in -answer a/a/=value"},
		"whose":            {Answers{"date": "1"}, []string{"a", "b"}, nil, "-answer date: say for which server"},
		"twice":            {Answers{"date": "1", "a/date": "2"}, []string{"a"}, nil, "-answer: the field date of the server a is given twice"},
		"no servers":       {Answers{"date": "1"}, nil, map[string]Answers{"": {"date": "1"}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := tt.given.ByServer(tt.servers)
			check.Same(t, "", got, tt.want)
			check.That(t, (err != nil) == (tt.err != "") && (err == nil || strings.HasPrefix(err.Error(), tt.err)),
				"got %v, want %s", err, tt.err)
		})
	}
}
