package screen

import (
	"context"
	"strings"
)

// Completion has the ways to complete the text before the cursor.
type Completion struct {
	From  int // offset in bytes of the part that an item replaces
	Items []Item
}

// Item is one completion.
type Item struct {
	Text  string // without control characters
	About string // shown beside it
	Open  bool   // no space is added, because more text follows
}

// Completer completes the text before the cursor. It returns when its context ends.
type Completer func(ctx context.Context, before string) Completion

// Completing is implemented by a [Screen] whose editor completes what is typed.
type Completing interface {
	CompleteBy(Completer)
}

// Narrow returns the items that contain part in any case: first those that begin with it.
func (c Completion) Narrow(part string) (found []Item) {
	part = strings.ToLower(part)
	var within []Item
	for _, item := range c.Items {
		switch text := strings.ToLower(item.Text); {
		case strings.HasPrefix(text, part):
			found = append(found, item)
		case strings.Contains(text, part):
			within = append(within, item)
		}
	}
	return append(found, within...)
}
