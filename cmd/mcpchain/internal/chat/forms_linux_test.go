package chat

import (
	"context"
	"reflect"
	"testing"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/talk"
	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/terminal"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
	"github.com/mcpchain/mcpchain/mcpclient/mcp"
)

// A form keeps what was typed: after Esc it continues at the same field, after "edit" at the first one. A key right
// after Enter is for the next field.
func TestFormKeepsWhatWasTyped(t *testing.T) {
	t.Parallel()
	m := openScreen(t)
	m.enter("you ›", "Book a table for 4\r")
	m.enter("[y]es", "y")
	m.enter("Enter continues", "2030-05-01\r25:00\r")
	m.await("✗ 25:00 does not fit\n")
	m.typed("\x15" + "19:00\r")
	m.await("┃ Number")
	m.golden("form-default")
	m.typed("\r")
	m.enter("┃ Where", "\x1b")
	m.enter("Leave the form?  [b]ack", "b")
	m.await("Leave the form? back to it\n")
	m.await("┃ Where")
	m.enter("Esc leaves the form", "\r\rquiet\r")
	m.enter("Send this to demo?  [y]es", "e")
	m.await("Send this to demo? edit\n")
	m.enter("Enter continues", "\x7f2\r")
	m.await("› 2030-05-02\n")
	m.await("┃ Time\n")
	m.await("› 19:00\n")
	m.typed("\r\r\r\r\r")
	m.await("Date: 2030-05-02\n")
	m.await("Note to the kitchen: quiet\n")
	m.enter("Send this to demo?  [y]es", "y")
	m.await("Booked: a table")
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
		if action, err := s.Fill(ctx, form); action != mcp.ElicitAccept || err != nil {
			t.Errorf("got %v, %v, want an accepted form", action, err)
		}
	})
	m.await("Enter continues")
	m.enter("┃ › quiet\n", "\x15\r")
	m.enter("┃ › 4\n", ctrlC)
	m.await("┃ ›\n")
	m.typed("\r")
	m.await("┃ Seat")
	m.enter("> At the bar\n", "\x1b[B")
	m.enter("> (nothing)\n", "\r")
	m.enter("┃ › 19:00\n", "\r")
	m.enter("Send this to box?  [y]es", "e")
	m.await("Send this to box? edit\n")
	m.await("Enter continues")
	m.enter("┃ Note (optional)\n┃ ›\n", "\r")
	m.enter("┃ People (optional)\n┃ ›\n", "\r")
	m.enter("> (nothing)\n", "\r")
	m.enter("┃ › 19:00\n", "\r")
	m.enter("Send this to box?  [y]es", "y")
	m.ended(0)
	if want := map[string]any{"time": "19:00"}; !reflect.DeepEqual(form.Values, want) {
		t.Errorf("got %v, want %v", form.Values, want)
	}
}
