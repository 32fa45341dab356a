package report

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/evals/check"
)

// chart compares one figure between subjects, in each cell of a family.
type chart struct {
	Title, About string
	Bars         []bar
}

type bar struct {
	Label, Value string
	Class        string // by the subject
	Share        int    // of the longest one, in percent
}

// charts makes a chart for each family of cells: the part of the name before the first slash.
func charts(all []*check.Check, figure, about string, unit float64) (made []chart) {
	most := map[string]float64{}
	each := func(visit func(family string, c *check.Check, v float64)) {
		for _, c := range all {
			if v, ok := c.Values[figure]; ok && c.Kind == "bench" {
				family, _, _ := strings.Cut(c.Name, "/")
				visit(family, c, v/unit)
			}
		}
	}
	each(func(family string, _ *check.Check, v float64) { most[family] = max(most[family], v) })
	each(func(family string, c *check.Check, v float64) {
		i := slices.IndexFunc(made, func(ch chart) bool { return ch.Title == family })
		if i < 0 {
			i, made = len(made), append(made, chart{Title: family, About: about})
		}
		b := bar{Label: c.Name + " " + c.Subject, Value: fmt.Sprintf("%.2f", v), Class: class(c.Subject)}
		if most[family] > 0 {
			b.Share = int(100 * max(0, v) / most[family])
		}
		made[i].Bars = append(made[i].Bars, b)
	})
	return made
}

// class is the style of a subject.
func class(subject string) string {
	switch {
	case strings.HasPrefix(subject, "floor"):
		return "floor"
	case slices.Contains([]string{"ours", "go-sdk", "mcp-go"}, subject):
		return subject
	}
	return "other"
}
