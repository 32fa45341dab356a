package rewrite

import (
	"fmt"
	"strings"
	"testing"
)

// What looks like patterns of names inside of values is compiled within bounds, too.
func TestWrapperOfManyPatterns(t *testing.T) {
	var patterns []string
	for i := range 3000 {
		patterns = append(patterns, fmt.Sprintf(`"^(ab?){330}%d":{}`, i))
	}
	root := decode(t, `{"not":{"const":{"patternProperties":{`+strings.Join(patterns, ",")+`}}},"patternProperties":{"^input$":{}}}`)
	if got := Wrapper(root); got != "input2" {
		t.Errorf("got %q, want the first name that no pattern of the root fits", got)
	}
}
