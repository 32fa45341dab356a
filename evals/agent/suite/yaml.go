package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/mcpchain/mcpchain/internal/schema"
	"github.com/mcpchain/mcpchain/internal/spelling"
	"github.com/mcpchain/mcpchain/internal/toolschema"
)

// MaxSize bounds the YAML of a suite.
const MaxSize = 4 << 20

// Parse parses a suite from YAML or JSON. Its errors begin with "suite", and the line of the mistake if it is known.
func Parse(data []byte) (*Suite, error) { return parseNamed("suite", data) }

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
	s := &Suite{}
	line, err := s.parse(data)
	switch {
	case err == nil:
		return s, nil
	case line > 0:
		return nil, fmt.Errorf("%s:%d: %w", name, line, err)
	}
	return nil, fmt.Errorf("%s: %w", name, err)
}

// parse sets the suite. It returns the line of a mistake, 0 if it is not known.
func (s *Suite) parse(data []byte) (line int, err error) {
	if len(data) > MaxSize {
		return 0, fmt.Errorf("a suite has at most %d bytes", MaxSize)
	}
	object, err := yaml.YAMLToJSON(data)
	if wrong, ok := errors.AsType[yaml.Error](err); ok && wrong.GetToken() != nil { // its own text has several lines
		return wrong.GetToken().Position.Line, errors.New(wrong.GetMessage())
	}
	if err == nil {
		err = checkSchema(object)
	}
	if err == nil {
		err = json.Unmarshal(object, s)
	}
	if err == nil {
		err = s.Check()
	}
	if wrong, ok := errors.AsType[*placeError](err); ok {
		return lineAt(data, wrong.pointer), err
	}
	return 0, err
}

// Schema returns the JSON Schema of suites, for editors.
func Schema() (json.RawMessage, error) { return toolschema.OfType(reflect.TypeFor[Suite]()) }

// required matches the members that a schema requires: its JSON is compact.
var required = regexp.MustCompile(`"required":\[[^]]*\]`)

// schemas returns the schema of suites twice: without the members that it requires, and as it is. They are checked in
// this order, so that a mistyped key is reported before the key that is missing because of it.
var schemas = sync.OnceValues(func() (all []*schema.Schema, err error) {
	strict, err := Schema()
	if err != nil {
		return nil, err
	}
	loose := required.ReplaceAll(strict, []byte(`"required":[]`))
	for _, raw := range [][]byte{loose, strict} {
		s, err := schema.Compile(raw)
		if err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
})

// checkSchema returns a [*placeError] for the first mistake in a suite by its schema.
func checkSchema(object []byte) error {
	all, err := schemas()
	if err != nil {
		return err
	}
	for _, s := range all {
		err := s.Validate(object)
		wrong, ok := errors.AsType[*schema.Violation](err)
		if ok && wrong.Unknown != "" {
			wrong.Path += "/" + pointerToken(wrong.Unknown)
			hint := spelling.Hint(wrong.Unknown, wrong.Known)
			wrong.Message = fmt.Sprintf("unknown key%s; known keys: %s", hint, strings.Join(wrong.Known, ", "))
		}
		if ok {
			err = &placeError{wrong.Path, wrong}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// pointerToken returns a key as a part of a JSON pointer.
func pointerToken(key string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(key) }

// lineAt returns the line of the value at a JSON pointer, or of its key. If it cannot find the value, for example behind
// an alias, it returns the line of the value around it. It returns 1 for the whole document, and for text that is not YAML.
func lineAt(data []byte, pointer string) int {
	file, err := parser.ParseBytes(data, 0)
	if err != nil || len(file.Docs) == 0 || file.Docs[0].Body == nil || pointer == "" {
		return 1
	}
	lines := firstLines{}
	ast.Walk(lines, file.Docs[0].Body)
	path := "$"
	for token := range strings.SplitSeq(pointer[1:], "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		steps := []string{"[" + name + "]", "." + name, ".'" + name + "'"} // in a list, in an object, with quotes
		i := slices.IndexFunc(steps, func(step string) bool { return lines[path+step] > 0 })
		if i < 0 {
			break
		}
		path += steps[i]
	}
	return max(1, lines[path])
}

// firstLines has the line where each value begins, with its key, by its path in the form of the parser.
type firstLines map[string]int

func (f firstLines) Visit(n ast.Node) ast.Visitor {
	if _, ok := f[n.GetPath()]; !ok {
		f[n.GetPath()] = n.GetToken().Position.Line
	}
	return f
}
