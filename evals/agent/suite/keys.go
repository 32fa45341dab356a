package suite

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/mcpchain/mcpchain/internal/spelling"
)

// lineError is the error of a line of a file.
type lineError struct {
	line int
	text string
}

func (e *lineError) Error() string { return fmt.Sprintf("line %d: %s", e.line, e.text) }

// checkKeys returns an error for the first unknown key or value of a wrong kind.
func checkKeys(data []byte) error {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return err
	}
	for _, d := range file.Docs {
		if err := checkNode(d.Body, reflect.TypeFor[Suite](), ""); err != nil {
			return err
		}
	}
	return nil
}

// lineOfTask returns the line where a task begins, 0 if unknown.
func lineOfTask(data []byte, index int) int {
	file, err := parser.ParseBytes(data, 0)
	if err != nil || len(file.Docs) == 0 {
		return 0
	}
	m, ok := file.Docs[0].Body.(ast.MapNode)
	if !ok {
		return 0
	}
	for all := m.MapRange(); all.Next(); {
		tasks, ok := all.Value().(ast.ArrayNode)
		if !ok || keyOf(all.Key()) != "tasks" {
			continue
		}
		for i, each := 0, tasks.ArrayRange(); each.Next(); i++ {
			if i == index {
				return startOf(each.Value())
			}
		}
	}
	return 0
}

// startOf returns the line where a value begins.
func startOf(n ast.Node) int {
	if m, ok := n.(ast.MapNode); ok {
		if all := m.MapRange(); all.Next() {
			return all.Key().GetToken().Position.Line
		}
	}
	return n.GetToken().Position.Line
}

// checkNode compares a value with its type. The value of an alias is compared at its anchor.
func checkNode(n ast.Node, of reflect.Type, at string) error {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	if anchor, ok := n.(*ast.AnchorNode); ok {
		n = anchor.Value
	}
	want, ok := wanted[of.Kind()]
	if !ok || reflect.PointerTo(of).Implements(reflect.TypeFor[json.Unmarshaler]()) {
		return nil
	}
	if got := kindOf(n); got == unknownKind {
		return nil
	} else if got != want {
		hint := ""
		if want == text && (got == number || got == truth) {
			hint = ": put it in quotes"
		}
		return &lineError{n.GetToken().Position.Line, fmt.Sprintf("%s: want %s, got %s%s", at, want, got, hint)}
	}
	switch of.Kind() {
	case reflect.Struct:
		return checkMembers(n, of, at)
	case reflect.Map:
		return checkValues(n.(ast.MapNode), of.Elem(), at)
	case reflect.Slice:
		return checkEntries(n.(ast.ArrayNode), of.Elem(), at)
	}
	return nil
}

func checkMembers(n ast.Node, of reflect.Type, at string) error {
	known := map[string]reflect.StructField{}
	for field := range of.Fields() {
		if key, _, _ := strings.Cut(field.Tag.Get("json"), ","); key != "-" {
			known[key] = field
		}
	}
	found, merged := map[string]bool{}, false
	for all := n.(ast.MapNode).MapRange(); all.Next(); {
		if all.Key().IsMergeKey() {
			merged = true
			continue
		}
		key := keyOf(all.Key())
		field, ok := known[key]
		if !ok {
			return unknownKey(all.Key().GetToken().Position.Line, join(at, key), key, slices.Sorted(maps.Keys(known)))
		}
		found[key] = true
		if err := checkNode(all.Value(), field.Type, join(at, key)); err != nil {
			return err
		}
		if err := checkChoice(all.Value(), field, join(at, key)); err != nil {
			return err
		}
	}
	if merged {
		return nil // the members of other objects are not checked
	}
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if !found[key] && !strings.Contains(known[key].Tag.Get("json"), ",omit") {
			return &lineError{startOf(n), strings.TrimSuffix(join(at, key)+" is missing: "+choices(known[key]), ": ")}
		}
	}
	return nil
}

// checkChoice finds a text that is none of those that a member takes.
func checkChoice(n ast.Node, of reflect.StructField, at string) error {
	value, ok := n.(*ast.StringNode)
	allowed := of.Tag.Get("enum")
	if !ok || allowed == "" || slices.Contains(strings.Split(allowed, ","), value.Value) {
		return nil
	}
	return &lineError{n.GetToken().Position.Line, fmt.Sprintf("%s: %s, got %q", at, choices(of), value.Value)}
}

// choices says which texts a member takes, "" if it takes any.
func choices(of reflect.StructField) string {
	all := strings.Split(of.Tag.Get("enum"), ",")
	if len(all) < 2 {
		return ""
	}
	last := len(all) - 1
	return "want " + strings.Join(all[:last], ", ") + " or " + all[last]
}

func unknownKey(line int, at, key string, known []string) error {
	hint := ""
	if near := spelling.Nearest(key, known); near != "" {
		hint = fmt.Sprintf("did you mean %q? ", near)
	}
	return &lineError{line, fmt.Sprintf("%s: unknown key; %sknown keys: %s", at, hint, strings.Join(known, ", "))}
}

func checkValues(m ast.MapNode, of reflect.Type, at string) error {
	for all := m.MapRange(); all.Next(); {
		if all.Key().IsMergeKey() {
			continue
		}
		if err := checkNode(all.Value(), of, join(at, keyOf(all.Key()))); err != nil {
			return err
		}
	}
	return nil
}

func checkEntries(list ast.ArrayNode, of reflect.Type, at string) error {
	i := 0
	for all := list.ArrayRange(); all.Next(); i++ {
		if err := checkNode(all.Value(), of, fmt.Sprintf("%s[%d]", at, i)); err != nil {
			return err
		}
	}
	return nil
}

// keyOf returns a key without its quotes.
func keyOf(n ast.MapKeyNode) string {
	if text, ok := n.(*ast.StringNode); ok {
		return text.Value
	}
	return n.GetToken().Value
}

func join(at, key string) string { return strings.TrimPrefix(at+"."+key, ".") }

// kind is the kind of a value, for people.
type kind string

const (
	unknownKind kind = "" // of null, aliases and tags
	object      kind = "an object"
	list        kind = "a list"
	text        kind = "a text"
	number      kind = "a number"
	truth       kind = "true or false"
)

// wanted has the kinds of values for Go types. Other types take any value.
var wanted = map[reflect.Kind]kind{
	reflect.Struct: object, reflect.Map: object, reflect.Slice: list, reflect.String: text, reflect.Bool: truth,
	reflect.Int: number, reflect.Int64: number, reflect.Float64: number,
}

func kindOf(n ast.Node) kind {
	switch n.(type) {
	case *ast.MappingNode, *ast.MappingValueNode:
		return object
	case *ast.SequenceNode:
		return list
	case *ast.StringNode, *ast.LiteralNode:
		return text
	case *ast.IntegerNode, *ast.FloatNode:
		return number
	case *ast.BoolNode:
		return truth
	}
	return unknownKind
}
