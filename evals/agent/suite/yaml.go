package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"

	"github.com/goccy/go-yaml"

	"github.com/mcpchain/mcpchain/internal/toolschema"
)

// MaxSize bounds the YAML of a suite.
const MaxSize = 4 << 20

// Parse parses a suite from YAML or JSON. Its errors name the line of the mistake.
func Parse(data []byte) (*Suite, error) {
	if len(data) > MaxSize {
		return nil, fmt.Errorf("a suite has at most %d bytes", MaxSize)
	}
	object, err := yaml.YAMLToJSON(data)
	if wrong, ok := errors.AsType[yaml.Error](err); ok && wrong.GetToken() != nil { // its own text has several lines
		return nil, &lineError{wrong.GetToken().Position.Line, wrong.GetMessage()}
	}
	if err != nil {
		return nil, err
	}
	if err := checkSchema(data, object); err != nil {
		return nil, err
	}
	var s Suite
	if err := json.Unmarshal(object, &s); err != nil {
		return nil, err
	}
	err = s.Check()
	if wrong, ok := errors.AsType[*placeError](err); ok {
		err = &lineError{lineAt(data, wrong.pointer), wrong.Error()}
	}
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// Open parses the suite in a file. Programs of servers are relative to its folder, see [Server.Command].
func Open(name string) (*Suite, error) {
	data, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	s, err := parseNamed(name, data)
	if err != nil {
		return nil, err
	}
	s.Folder, err = filepath.Abs(filepath.Dir(name))
	return s, err
}

// parseNamed parses the content of a file. The errors begin with the name of the file, and the line if it is known.
func parseNamed(name string, data []byte) (*Suite, error) {
	s, err := Parse(data)
	if wrong, ok := errors.AsType[*lineError](err); ok {
		return nil, fmt.Errorf("%s:%d: %s", name, wrong.line, wrong.text)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return s, nil
}

// Schema returns the JSON Schema of suites, for editors.
func Schema() (json.RawMessage, error) { return toolschema.OfType(reflect.TypeFor[Suite]()) }
