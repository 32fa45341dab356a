package lines

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

// errShown means that the terminal cannot hide what is typed.
var errShown = errors.New("this terminal would show what is typed")

// Secret implements [screen.Screen].
func (c *Console) Secret(ctx context.Context, prompt string) (text string, err error) {
	if c.Hide == nil {
		return "", errShown
	}
	err = c.dialog(ctx, func() error {
		show, err := c.Hide()
		if err != nil {
			return err
		}
		defer fmt.Fprintln(c.err) // the typed line break was not shown
		defer show()
		text, err = c.askLocked(ctx, screen.Warn, prompt)
		return err
	})
	return text, err
}
