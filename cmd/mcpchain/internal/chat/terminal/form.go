package terminal

import (
	"context"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"
	"charm.land/huh/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
)

const (
	fieldsAtOnce   = 3   // maximum number of fields of a form that are shown together
	maxFormColumns = 100 // a wider form is hard to read
	minFormRows    = 8
	otherFormRows  = 6 // rows of the terminal that are not for the form
)

// Fill implements [screen.Screen].
func (t *Terminal) Fill(ctx context.Context, f *screen.Form) (action string, err error) {
	unlock, err := t.lockPerson(ctx)
	if err != nil {
		return "", err
	}
	defer unlock()
	t.printChoice(&screen.Choice{
		Heading: f.Heading, Text: hosttext.Block(f.Message, screen.MaxShown),
	})
	for _, mistake := range f.Mistakes {
		t.Note(screen.Warn, "  %v", mistake)
	}
	d := newFormDialog(f)
	for action == "" {
		if len(f.Fields) > 0 {
			if err := t.askLocked(ctx, d); err != nil {
				return "", err
			}
		}
		final := f.FinalChoice()
		if d.wasLeft {
			final = leaveChoice
		}
		key, err := t.chooseLocked(ctx, final)
		if err != nil {
			return "", err
		}
		action = screen.Actions[key]
	}
	return action, nil
}

// leaveChoice is the question about a form that was left, and so is not complete.
var leaveChoice = &screen.Choice{Question: "Leave the form?", Answers: []screen.Answer{
	{Key: 'b', Label: "back to it"}, {Key: 'n', Label: "no, decline"}, {Key: 'c', Label: "cancel"},
}}

// formDialog asks for the fields of a form. The values are stored in the form when all of them are valid.
type formDialog struct {
	huh     *huh.Form
	form    *screen.Form
	inputs  []*fieldInput
	wasLeft bool // the person has left the form with Esc
}

func newFormDialog(f *screen.Form) *formDialog {
	d := &formDialog{form: f}
	for _, field := range f.Fields {
		in := &fieldInput{field: field}
		in.setInitial(f)
		d.inputs = append(d.inputs, in)
	}
	return d
}

// init begins an attempt, which keeps what was typed before. A form that was left with Esc continues where it was; a
// completed one begins at its first field.
func (d *formDialog) init(width, height int) tea.Cmd {
	if !d.wasLeft {
		d.huh = d.newForm()
	}
	d.wasLeft = false
	begin := d.huh.Init()
	resize, _ := d.update(tea.WindowSizeMsg{Width: width, Height: height})
	return tea.Batch(begin, resize)
}

func (d *formDialog) newForm() *huh.Form {
	var groups []*huh.Group
	for inputs := range slices.Chunk(d.inputs, fieldsAtOnce) {
		var shown []huh.Field
		for _, in := range inputs {
			in.widget = in.newWidget()
			shown = append(shown, in.widget)
		}
		groups = append(groups, huh.NewGroup(shown...).WithShowHelp(false).WithShowErrors(false))
	}
	keys := huh.NewDefaultKeyMap()
	keys.Quit.SetEnabled(false)
	return huh.NewForm(groups...).WithKeyMap(keys).WithShowHelp(false).WithTheme(huh.ThemeFunc(huh.ThemeBase16))
}

// clear empties the text of the field that has the keyboard.
func (d *formDialog) clear() bool {
	focused, ok := d.huh.GetFocusedField().(*huh.Input)
	if !ok {
		return false
	}
	for _, in := range d.inputs {
		if in.widget == huh.Field(focused) && in.text != "" {
			in.text = ""
			focused.Value(&in.text)
			return true
		}
	}
	return false
}

func (d *formDialog) update(msg tea.Msg) (cmd tea.Cmd, ended bool) {
	if k, ok := msg.(tea.KeyPressMsg); ok && k.String() == "esc" && !d.isFiltering() {
		d.wasLeft = true
		return nil, true
	}
	if size, ok := msg.(tea.WindowSizeMsg); ok {
		msg = tea.WindowSizeMsg{
			Width:  min(size.Width, maxFormColumns),
			Height: max(size.Height-otherFormRows, minFormRows),
		}
	}
	cmd = d.forward(msg)
	if d.huh.State == huh.StateCompleted {
		d.storeValues()
		return cmd, true
	}
	return cmd, false
}

// isFiltering reports whether keys are for the search in a list.
func (d *formDialog) isFiltering() bool {
	list, ok := d.huh.GetFocusedField().(interface{ GetFiltering() bool })
	return ok && list.GetFiltering()
}

// forward passes a message to the library. There a key leaves a field only by a later message, and
// a fast next key would reach the old field; so forward leaves the field at once.
func (d *formDialog) forward(msg tea.Msg) tea.Cmd {
	field, filtering := d.huh.GetFocusedField(), d.isFiltering()
	_, cmd := d.huh.Update(msg)
	k, ok := msg.(tea.KeyPressMsg)
	if !ok || filtering {
		return cmd
	}
	switch name := k.String(); {
	case name == "shift+tab" && field != d.inputs[0].widget:
		if cmd = d.huh.PrevField(); d.huh.GetFocusedField() == field {
			cmd = d.huh.PrevGroup()
		}
	case (name == "enter" || name == "tab" && field != d.inputs[len(d.inputs)-1].widget) && field.Error() == nil:
		if cmd = d.huh.NextField(); d.huh.GetFocusedField() == field {
			cmd = d.huh.NextGroup()
		}
	}
	return cmd
}

// storeValues stores the values in the form.
func (d *formDialog) storeValues() {
	for _, in := range d.inputs {
		delete(d.form.Values, in.field.Name)
		if value, err := in.value(); err == nil && value != nil {
			d.form.Values[in.field.Name] = value
		}
	}
}

func (d *formDialog) view(_ int, ready bool) (string, *tea.Cursor) {
	view := strings.TrimRight(d.huh.View(), "\n ") + "\n"
	if !ready {
		return view + "…", nil
	}
	return view + "Enter continues · Shift-Tab back · Esc leaves the form", tea.NewCursor(0, 0)
}
