package config

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
)

// maxInputs bounds the inputs of a file, and the choices of one.
const maxInputs = 100

// Input is a value that a person has to provide, as described in VS Code's files. The file's author controls its texts.
type Input struct {
	ID          string
	Description string
	Default     string   // to offer as the answer
	Password    bool     // the answer must not be shown
	Choices     []string // pickString: the possible answers; nil: any text

	values []string // the values of the choices in the file
}

// answer returns the value of an input, for which a person is asked once.
func (d *decoder) answer(id string) (string, error) {
	if d.inputs == nil {
		return "", &inputError{id}
	}
	ask, ok := d.inputs[id]
	if !ok {
		return "", fmt.Errorf("there is no input with the id %s that asks for a text or a choice", quoteKey(id))
	}
	value, err := ask()
	if err != nil {
		return "", fmt.Errorf("input %s: %w", quoteKey(id), err)
	}
	return value, nil
}

// value returns the value of an answer: for a choice, the value in the file.
func (in *Input) value(answer string) (string, error) {
	if in.Choices == nil {
		return answer, nil
	}
	if i := slices.Index(in.Choices, answer); i >= 0 {
		return in.values[i], nil
	}
	return "", errors.New("answer is not one of the choices")
}

// readInputs decodes the inputs of a document, at its root or beside mcp.servers. An invalid input
// is treated as unknown.
func (d *decoder) readInputs(ctx context.Context, root *node) {
	if d.opts.Input == nil {
		return
	}
	d.inputs = map[string]func() (string, error){}
	list := root.member("inputs")
	if mcp := root.member("mcp"); list == nil && mcp != nil {
		list = mcp.member("inputs")
	}
	if list == nil {
		return
	}
	for _, item := range list.items[:min(len(list.items), maxInputs)] {
		in, err := readInput(item)
		if err != nil {
			continue
		}
		d.inputs[in.ID] = sync.OnceValues(func() (string, error) {
			shown := *in // ask may change it
			shown.Choices = slices.Clone(in.Choices)
			answer, err := d.opts.Input(ctx, &shown)
			if err != nil {
				return "", err
			}
			return in.value(answer)
		})
	}
}

// readInput decodes one entry of the inputs of a file.
func readInput(n *node) (*Input, error) {
	in := &Input{
		ID: n.memberText("id"), Description: n.memberText("description"), Default: n.memberText("default"),
	}
	if p := n.member("password"); p != nil {
		in.Password = p.text == "true"
	}
	switch n.memberText("type") {
	case "promptString":
		return in, nil
	case "pickString":
	default:
		return nil, errors.New("unknown type")
	}
	options := n.member("options")
	if options == nil || len(options.items) == 0 || len(options.items) > maxInputs {
		return nil, errors.New("no options, or too many")
	}
	for _, o := range options.items {
		label, value := o.text, o.text
		switch o.kind {
		case kindString:
		case kindObject:
			label, value = o.memberText("label"), o.memberText("value")
		default:
			return nil, errors.New("option is not a string")
		}
		in.Choices, in.values = append(in.Choices, label), append(in.values, value)
	}
	if i := slices.Index(in.values, in.Default); i >= 0 && in.Default != "" {
		in.Default = in.Choices[i] // a person is shown its label
	}
	return in, nil
}

// member returns the value of the last member with this key, or nil.
func (n *node) member(key string) (value *node) {
	for _, m := range n.members {
		if m.key == key {
			value = m.value
		}
	}
	return value
}

// memberText returns a string member of an object, or "" if it is missing or not a string.
func (n *node) memberText(key string) string {
	if v := n.member(key); v != nil && v.kind == kindString {
		return v.text
	}
	return ""
}
