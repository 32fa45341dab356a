package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/schema"
)

// Data that looks like patternProperties is compiled within bounds, too.
func TestNameOfManyPatterns(t *testing.T) {
	var patterns []string
	for i := range 3000 {
		patterns = append(patterns, fmt.Sprintf(`"^(ab?){330}%d":{}`, i))
	}
	v, err := schema.Decode([]byte(`{"not":{"const":{"patternProperties":{` + strings.Join(patterns, ",") + `}}},"patternProperties":{"^input$":{}}}`))
	check(t, err)
	root := v.(map[string]any)
	if got := WrapperName(root); got != "input2" {
		t.Errorf("got %q, want the first name that no pattern of the root fits", got)
	}
}
