package models

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/mcpchain/mcpchain/hosttext"
	"github.com/mcpchain/mcpchain/internal/spelling"
)

// File is a file of models, by the person's names for them.
type File struct {
	Default string           `json:"default"` // "": none
	Models  map[string]Model `json:"models"`

	path string
}

const maxFile = 1 << 20 // bytes

// Read reads a file of models. A missing file has no models.
func Read(path string) (*File, error) {
	data, err := read(path)
	if errors.Is(err, fs.ErrNotExist) {
		return &File{path: path}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read models: %w", err)
	}
	f := &File{path: path}
	if err := decode(path, data, f); err != nil {
		return nil, fmt.Errorf("read models: %w", err)
	}
	wrong := func(at jsontext.Pointer, key, text string) (*File, error) {
		return nil, fmt.Errorf("read models: %w", mistake(path, contentBefore(data, at), hosttext.Line(key, 80), text))
	}
	for _, name := range f.Names() {
		model, at := f.Models[name], jsontext.Pointer("/models").AppendToken(name)
		if model.BaseURL == "" && model.API != Messages || model.Name == "" {
			return wrong(at, name, "want a baseUrl and a model")
		}
		err := model.check()
		if value, ok := errors.AsType[*valueError](err); ok {
			return wrong(at.AppendToken(value.member), name, value.inFile())
		}
		if err != nil {
			return wrong(at, name, err.Error())
		}
		model.BaseURL = strings.TrimRight(model.BaseURL, "/")
		f.Models[name] = model
	}
	if _, ok := f.Models[f.Default]; f.Default != "" && !ok {
		return wrong("/default", "default", fmt.Sprintf("%s is not one of the models: %s", hosttext.Line(f.Default, 80), f.quoted()))
	}
	return f, nil
}

// Names returns the person's names for the models.
func (f *File) Names() []string { return slices.Sorted(maps.Keys(f.Models)) }

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// Find returns a model by its name in the file, or the default for "". getenv looks up the variables
// in its key, and the endpoint of Claude.
func (f *File) Find(name string, getenv func(string) string) (model Model, found bool, err error) {
	model, found, err = f.lookup(name, getenv)
	model.useEndpointOfClaude(getenv)
	return model, found, err
}

// useEndpointOfClaude sets the key and the base URL of a model of the "messages" API that has neither. Those of the
// environment belong together.
func (m *Model) useEndpointOfClaude(getenv func(string) string) {
	if m.API == Messages && m.BaseURL == "" && m.Key == "" {
		m.Key, m.BaseURL = getenv("ANTHROPIC_API_KEY"), getenv("ANTHROPIC_BASE_URL")
	}
}

// lookup is Find without the endpoint of Claude, for callers that may change the API.
func (f *File) lookup(name string, getenv func(string) string) (model Model, found bool, err error) {
	name = cmp.Or(name, f.Default)
	model, found = f.Models[name]
	model.Key = variable.ReplaceAllStringFunc(model.Key, func(text string) string {
		key := variable.FindStringSubmatch(text)[1]
		value := getenv(key)
		if value == "" && err == nil {
			err = fmt.Errorf("the key of the model %s: environment variable %s is not set", hosttext.Line(name, 80), key)
		}
		return value
	})
	return model, found, err
}

// missing returns the error for a name that is not in the file.
func (f *File) missing(name string) error {
	hint := spelling.Hint(name, f.Names())
	return fmt.Errorf("%s has no model %q%s; it has %s", hosttext.Line(f.path, 400), hosttext.Line(name, 80), hint, f.quoted())
}

// quoted lists the names, for the text of an error.
func (f *File) quoted() string {
	names := f.Names()
	for i, name := range names {
		names[i] = strconv.Quote(hosttext.Line(name, 80))
	}
	return hosttext.Line(strings.Join(names, ", "), 400)
}

// read reads a file of bounded size that is not a pipe or a device.
func read(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a file", path)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s is larger than %d bytes", path, maxFile)
	}
	data, err := os.ReadFile(path)
	return bytes.TrimPrefix(data, []byte("\uFEFF")), err // as PowerShell writes it
}

// decode reads the one object of a file. It refuses unknown members. An error begins with the path and the line.
func decode(path string, data []byte, into any) error {
	err := json.Unmarshal(data, into, json.RejectUnknownMembers(true))
	if wrong, ok := errors.AsType[*json.SemanticError](err); ok {
		key := strings.Join(slices.Collect(wrong.JSONPointer.Tokens()), ".")
		return mistake(path, data[:wrong.ByteOffset], cmp.Or(hosttext.Line(key, 200), "the file"), problem(wrong))
	}
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return mistake(path, data[:wrong.ByteOffset], "", wrong.Err.Error())
	}
	return err
}

// mistake returns an error about a place in a file. before is the content before the place, and key may be empty.
func mistake(path string, before []byte, key, text string) error {
	if key != "" {
		text = key + ": " + text
	}
	return fmt.Errorf("%s:%d: %s", path, 1+bytes.Count(before, []byte("\n")), text)
}

// problem describes what is wrong with a value, or with the key of a member.
func problem(e *json.SemanticError) string {
	if e.Err == json.ErrUnknownName {
		known := members(e.GoType)
		return fmt.Sprintf("unknown key%s; known keys: %s", spelling.Hint(e.JSONPointer.LastToken(), known), strings.Join(known, ", "))
	}
	if e.GoType == nil {
		return "want another value"
	}
	switch e.GoType.Kind() {
	case reflect.String:
		return "want a string"
	case reflect.Int, reflect.Int64:
		return "want a whole number"
	case reflect.Slice:
		return "want a list"
	default:
		return "want an object"
	}
}

// members returns the names of the members of an object that is read into a struct.
func members(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

// contentBefore returns the content of a file up to the key at a pointer.
func contentBefore(data []byte, at jsontext.Pointer) []byte {
	d := jsontext.NewDecoder(bytes.NewReader(data))
	for d.StackPointer() != at {
		if _, err := d.ReadToken(); err != nil {
			return nil
		}
	}
	return data[:d.InputOffset()]
}
