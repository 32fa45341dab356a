package terminal

import (
	"errors"
	"fmt"
	"strings"

	"charm.land/huh/v2"

	"github.com/mcpchain/mcpchain/cmd/mcpchain/internal/chat/screen"
	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/mcpclient/forms"
)

// maxOptions is the most rows of a field with options. The others are reached by scrolling.
const maxOptions = 8

// fieldInput is a field on the screen.
type fieldInput struct {
	field    *forms.Field
	widget   huh.Field
	text     string       // the typed text, or the value of the chosen option
	choices  []string     // values of the chosen options, of a field that takes several
	describe func(string) // sets the text beside the field
}

// noChoice is the value of the option that leaves a field empty.
const noChoice = "\x00nothing"

// setInitial sets the previous value, or the default. Invisible characters of a default are
// escaped: what is shown is sent.
func (in *fieldInput) setInitial(f *screen.Form) {
	value := f.Value(in.field)
	switch v := value.(type) {
	case []string:
		in.choices = v
		return
	case string:
		in.text = v
		if len(optionsOf(in.field)) == 0 {
			in.text = hosttext.Escape(v)
		}
	case nil:
		if len(optionsOf(in.field)) > 0 {
			in.text = noChoice
		}
	default:
		in.text = in.field.Text(value)
	}
}

// newWidget returns the widget of a field.
func (in *fieldInput) newWidget() huh.Field {
	title, about := hosttext.Line(in.field.Title, 80), hosttext.Line(in.field.Description, 200)
	if !in.field.Required {
		title += " (optional)"
	}
	options := optionsOf(in.field)
	switch {
	case in.field.Kind == forms.KindChoices:
		about = strings.TrimSpace(about + " (Space marks several)")
		list := huh.NewMultiSelect[string]()
		in.describe = func(text string) { list.Description(text) }
		return list.Title(title).Description(about).
			Options(options...).Height(min(len(options), maxOptions) + 2).Value(&in.choices).
			Validate(func([]string) error { return in.validate(about) })
	case len(options) > 0:
		list := huh.NewSelect[string]()
		in.describe = func(text string) { list.Description(text) }
		return list.Title(title).Description(about).
			Options(options...).Height(min(len(options), maxOptions) + 2).Value(&in.text).
			Validate(func(string) error { return in.validate(about) })
	}
	text := huh.NewInput()
	in.describe = func(about string) { text.Description(about) }
	return text.Title(title).Description(about).Prompt(inputPrompt).Value(&in.text).
		Validate(func(string) error { return in.validate(about) })
}

// optionsOf returns the options of a field; a boolean has yes and no.
func optionsOf(field *forms.Field) (options []huh.Option[string]) {
	for _, o := range field.Options {
		options = append(options, huh.NewOption(hosttext.Line(o.Title, 80), o.Value))
	}
	if field.Kind == forms.KindBoolean {
		options = append(options, huh.NewOption("yes", "yes"), huh.NewOption("no", "no"))
	}
	if len(options) > 0 && !field.Required && field.Kind != forms.KindChoices {
		options = append(options, huh.NewOption("(nothing)", noChoice))
	}
	return options
}

// value returns the value of a field, nil if it is empty and optional. The error says why the value is invalid.
func (in *fieldInput) value() (any, error) {
	switch {
	case in.field.Kind == forms.KindChoices && len(in.choices) == 0 && !in.field.Required:
		return nil, nil
	case in.text == noChoice && !in.field.Required:
		return nil, nil
	case in.field.Kind == forms.KindChoices:
		return in.choices, in.field.Check(in.choices)
	case in.field.Kind == forms.KindChoice:
		return in.text, in.field.Check(in.text)
	case in.text == noChoice:
		return in.field.Parse("")
	case strings.TrimSpace(in.text) == "" && !in.field.Required:
		return nil, nil // Parse would take the default, which the person has cleared
	}
	return in.field.Parse(screen.CleanInput(in.text))
}

// validate checks a field, and shows a mistake beside it. about is the text beside a valid field.
func (in *fieldInput) validate(about string) error {
	err := in.check()
	if err != nil {
		about = strings.TrimSpace(about + " ✗ " + err.Error())
	}
	in.describe(about)
	return err
}

// check returns a short error if the value is invalid.
func (in *fieldInput) check() error {
	_, err := in.value()
	switch {
	case err == nil:
		return nil
	case in.field.Pattern != "" && in.field.Description != "" && in.text != "": // the description stands beside
		return fmt.Errorf("%s does not fit", hosttext.Line(in.text, 40))
	}
	return errors.New(screen.FieldProblem(in.field, err))
}
