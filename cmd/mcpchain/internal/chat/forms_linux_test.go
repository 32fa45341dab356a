package chat

import (
	"context"
	"reflect"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
	"github.com/mcpchain/mcpchain/internal/check"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A form keeps what was typed: after Esc it continues at the same field, after "edit" at the first one. A key right
// after Enter is for the next field.
func TestFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", "Book a table for 4\r", "[y]es", "y", "Enter continues", "2030-05-01\r25:00\r")
	m.enter("✗ 25:00 does not fit\n", "\x15"+"19:00\r", "┃ Number")
	m.golden("form-default")
	m.typed("\r", "┃ Where", "\x1b", "Leave the form?  [b]ack", "b", "Leave the form? back to it\n")
	m.await("┃ Where")
	m.enter("Esc leaves the form", "\r\rquiet\r", "Send this to demo?  [y]es", "e", "Send this to demo? edit\n")
	m.enter("Enter continues", "\x7f2\r", "› 2030-05-02\n")
	m.await("┃ Time\n")
	m.enter("› 19:00\n", "\r\r\r\r\r", "Date: 2030-05-02\n")
	m.await("Note to the kitchen: quiet\n")
	m.enter("Send this to demo?  [y]es", "y", "Booked: a table")
	m.leave()
}

// A default that the person clears is not sent, and stays cleared after "edit".
func TestFormWithoutItsDefaults(t *testing.T) {
	form := &screen.Form{Server: "box", Message: "Fill it in.", Values: map[string]any{}, Fields: []*forms.Field{
		{Name: "note", Title: "Note", Kind: forms.KindString, Default: "quiet"},
		{Name: "people", Title: "People", Kind: forms.KindInteger, Default: 4.0},
		{Name: "seat", Title: "Seat", Kind: forms.KindChoice, Default: "bar", Options: []forms.Option{{Value: "bar", Title: "At the bar"}}},
		{Name: "time", Title: "Time", Kind: forms.KindString, Default: "19:00"},
	}}
	m := onScreen(t, 60, "", func(ctx context.Context, s *terminal.Terminal, _ *talk.Interrupts) {
		action, err := s.Fill(ctx, form)
		check.That(t, action == mcp.ElicitAccept && err == nil, "got %v, %v, want an accepted form", action, err)
	})
	m.await("Enter continues")
	m.enter("┃ › quiet\n", "\x15\r", "┃ › 4\n", ctrlC, "┃ ›\n", "\r", "┃ Seat")
	m.enter("> At the bar\n", "\x1b[B", "> (nothing)\n", "\r", "┃ › 19:00\n", "\r", "Send this to box?  [y]es", "e")
	m.await("Send this to box? edit\n", "Enter continues")
	m.enter("┃ Note (optional)\n┃ ›\n", "\r", "┃ People (optional)\n┃ ›\n", "\r", "> (nothing)\n", "\r", "┃ › 19:00\n", "\r")
	m.enter("Send this to box?  [y]es", "y")
	m.ended(0)
	want := map[string]any{"time": "19:00"}
	check.That(t, reflect.DeepEqual(form.Values, want), "got %v, want %v", form.Values, want)
}
