package cli

import (
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/adapter"
	"github.com/mcpchain/mcpchain/internal/check"
)

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
