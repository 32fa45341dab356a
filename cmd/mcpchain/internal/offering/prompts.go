package offering

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// CheckRequired returns an error if a required argument of a prompt is not given.
func CheckRequired(prompt *mcp.Prompt, given map[string]string) error {
	var missing []string
	for _, a := range prompt.Arguments {
		if _, ok := given[a.Name]; a.Required && !ok {
			missing = append(missing, hosttext.Line(a.Name, 80))
		}
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("the prompt %s needs %s, as in %s=…",
		hosttext.Line(prompt.Name, 80), strings.Join(missing, " and "), missing[0])
}

// CheckNames returns an error if a prompt does not take one of the given arguments: it is probably mistyped.
func CheckNames(prompt *mcp.Prompt, given map[string]string) error {
	var names []string
	for _, a := range prompt.Arguments {
		names = append(names, a.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return fmt.Errorf("the prompt %s has no argument %q%s",
				hosttext.Line(prompt.Name, 80), name, spelling.Hint(name, names))
		}
	}
	return nil
}
