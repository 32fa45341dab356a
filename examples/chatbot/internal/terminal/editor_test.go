package terminal

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A note that is printed beside it must not take away why nothing was written.
func TestEditorThatDoesNotStart(t *testing.T) {
	m := newModel(&Terminal{output: &output{}}, Options{})
	cmd := m.update(writtenMsg{err: errors.New("executable file not found")})
	if cmd == nil {
		t.Fatal("nothing is printed")
	}
	if got := fmt.Sprint(cmd()); !strings.Contains(got, "nothing was written: executable file not found; $EDITOR names the editor") {
		t.Errorf("printed %q", got)
	}
}
