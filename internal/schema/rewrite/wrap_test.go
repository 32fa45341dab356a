package rewrite

import (
	"testing"

	"github.com/mcpchain/mcpchain/internal/check"
)

// Data that looks like patternProperties is compiled within bounds, too.
func TestNameOfManyPatterns(t *testing.T) {
	root := decode(t, `{"not":{"const":{"patternProperties":{`+each(3000, `"^(ab?){330}%d":{}`)+`}}},"patternProperties":{"^input$":{}}}`)
	check.Equal(t, "the first name that no pattern of the root fits", WrapperName(root), "input2")
}
