package screen

import (
	"context"
	"strings"
)

// Completion is how the end of a text may go on.
type Completion struct {
	From  int // where the part begins that an item replaces, in bytes
	Items []Item
}

// Item is one way to go on. Its text is safe to be shown and typed.
type Item struct {
	Text  string
	About string // shown beside it
	Open  bool   // something follows it without a blank
}

// Completer completes a text that ends at the cursor. It returns when its context ends.
type Completer func(ctx context.Context, before string) Completion

// Completing is a [Screen] with an editor that completes what is typed.
type Completing interface {
	CompleteBy(Completer)
}

// Narrow returns the items that fit a part of a text: first those that begin with it.
func (c Completion) Narrow(part string) (fit []Item) {
	part = strings.ToLower(part)
	var within []Item
	for _, item := range c.Items {
		switch text := strings.ToLower(item.Text); {
		case strings.HasPrefix(text, part):
			fit = append(fit, item)
		case strings.Contains(text, part):
			within = append(within, item)
		}
	}
	return append(fit, within...)
}
