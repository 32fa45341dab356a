package rewrite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/internal/schema"
)

// Data that looks like patternProperties is compiled within bounds, too.
func TestNameOfManyPatterns(t *testing.T) {
	var patterns []string
	for i := range 3000 {
		patterns = append(patterns, fmt.Sprintf(`"^(ab?){330}%d":{}`, i))
	}
	v, err := schema.Decode([]byte(`{"not":{"const":{"patternProperties":{` + strings.Join(patterns, ",") + `}}},"patternProperties":{"^input$":{}}}`))
	check.Must(t, err)
	root := v.(map[string]any)
	check.Equal(t, "the first name that no pattern of the root fits", WrapperName(root), "input2")
}
