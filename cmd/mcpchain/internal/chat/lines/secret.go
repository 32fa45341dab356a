package lines

import (
	"context"
	"errors"
	"fmt"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
)

var errShown = errors.New("this terminal would show what is typed")

// Secret implements [screen.Screen].
func (c *Console) Secret(ctx context.Context, prompt string) (text string, err error) {
	if c.hide == nil {
		return "", errShown
	}
	err = c.dialog(ctx, func() error {
		show, err := c.hide()
		if err != nil {
			return err
		}
		defer fmt.Fprintln(c.err) // the line break was not shown either
		defer show()
		text, err = c.askLocked(ctx, screen.Warn, prompt)
		return err
	})
	return text, err
}
