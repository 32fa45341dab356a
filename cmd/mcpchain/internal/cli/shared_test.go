package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/check"
)

// A wrong value is answered by what the flag takes.
func TestHostingErrors(t *testing.T) {
	for args, want := range map[string]string{
		"-log loud": `invalid value "loud" for flag -log: want debug, info, warn or error`, "-listen 8080": `-listen "8080": want an address such as 127.0.0.1:8080`,
		"-x": "there is no flag -x; ", "-lisen :1": `there is no flag -lisen (did you mean "-listen"?)`,
	} {
		var h Hosting
		c := New("serve", "")
		c.HostingFlags(&h)
		err := c.NoWords(strings.Fields(args), new(bytes.Buffer))
		if err == nil {
			err = h.Check()
		}
		check.Text(t, err, want, args)
	}
}

// TestLogger logs what the level lets through, as text or as JSON.
func TestLogger(t *testing.T) {
	for _, tt := range []struct {
		args  []string
		lines int
		last  string
		json  bool
	}{
		{nil, 2, ` level=WARN msg="a b" n=1` + "\n", false},
		{[]string{"-log", "warn"}, 1, ` level=WARN msg="a b" n=1` + "\n", false},
		{[]string{"-log", "warn", "-log-json"}, 1, `,"level":"WARN","msg":"a b","n":1}` + "\n", true},
	} {
		var h Hosting
		c := New("serve", "")
		c.HostingFlags(&h)
		var out bytes.Buffer
		check.Must(t, c.NoWords(tt.args, &out))
		logger := h.logger(&out)
		logger.Info("begun")
		logger.Warn("a b", "n", 1)
		got := out.String()
		check.That(t, strings.Count(got, "\n") == tt.lines && strings.HasSuffix(got, tt.last) && json.Valid(out.Bytes()) == tt.json,
			"%q: got %q, want %d lines, the last of them %q", tt.args, got, tt.lines, tt.last)
	}
}

// Each warning is shown once, and not all of many.
func TestWarnings(t *testing.T) {
	var shown, want strings.Builder
	log := Warnings(func(line string) { fmt.Fprintln(&shown, line) }).With("server", "loud")
	log.Info("not shown")
	for n := range maxWarnings + 5 {
		for range 2 {
			log.Warn("odd", "text", "a\x1b[31m\nb", "n", n)
		}
		if n < maxWarnings {
			fmt.Fprintf(&want, "warning: msg=odd server=loud text=\"a\\x1b[31m\\nb\" n=%d\n", n)
		}
	}
	check.Equal(t, "", shown.String(), want.String()+"warning: more of this is not shown\n")
}

func TestRevisions(t *testing.T) {
	const wrong = "want one of 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05"
	for name, tt := range map[string]struct {
		given []string
		want  string // revisions of the servers, or the error
	}{
		"none":       {nil, "a: 2025-06-18 b=c:"},
		"all":        {[]string{"2025-11-25"}, "a: 2025-11-25 b=c: 2025-11-25"},
		"one":        {[]string{"b=c=2024-11-05"}, "a: 2025-06-18 b=c: 2024-11-05"},
		"the others": {[]string{"2025-11-25", "a=2026-07-28"}, "a: 2026-07-28 b=c: 2025-11-25"},
		"unknown":    {[]string{"a=2025-11-26"}, wrong},
		"empty":      {[]string{""}, wrong},
		"no server":  {[]string{"x=2025-11-25"}, `there is no server "x"`},
		"twice":      {[]string{"a=2025-11-25", "a=2025-06-18"}, "is given twice"},
	} {
		t.Run(name, func(t *testing.T) {
			servers := []adapter.Server{{Name: "a", Revision: "2025-06-18"}, {Name: "b=c"}}
			f, err := Revisions{}, error(nil)
			for _, s := range tt.given {
				if err == nil {
					err = f.Set(s)
				}
			}
			if err == nil {
				err = f.Apply(servers)
			}
			got := ""
			if err != nil {
				got = err.Error()
			} else {
				for _, s := range servers {
					got += " " + s.Name + ": " + s.Revision
				}
			}
			check.Contains(t, "", strings.TrimSpace(got), tt.want)
		})
	}
}
