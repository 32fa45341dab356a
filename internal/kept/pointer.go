package kept

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// Value returns the value at a JSON pointer (RFC 6901), as it is in the data. The error says how far
// the pointer leads, and the members there.
func Value(data []byte, pointer string) ([]byte, error) {
	if pointer == "" {
		if !jsontext.Value(data).IsValid(lenient...) {
			return nil, errNotJSON
		}
		return bytes.TrimSpace(data), nil
	}
	if pointer[0] != '/' {
		return nil, fmt.Errorf("pointer %q has to begin with /", cut(pointer, 100))
	}
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	done := ""
	for _, token := range strings.Split(pointer[1:], "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(token)
		err := descend(d, name)
		switch {
		case err == errNotJSON:
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("there is no %q: at %q %w", cut(pointer, 100), cut(done, 100), err)
		}
		done += "/" + token
	}
	value, err := d.ReadValue()
	if err != nil {
		return nil, errNotJSON
	}
	return value, nil
}

var errNotJSON = errors.New("result is not JSON")

// descend reads to the value with that name or index in the next value. The error describes the next
// value if there is none.
func descend(d *jsontext.Decoder, name string) error {
	switch d.PeekKind() {
	case '{':
		_, _ = d.ReadToken()
		var names []string
		for d.PeekKind() == '"' {
			token, err := d.ReadToken()
			if err != nil {
				return errNotJSON
			}
			if token.String() == name {
				return nil
			}
			if len(names) < maxMembers {
				names = append(names, cut(token.String(), maxName))
			}
			if d.SkipValue() != nil {
				return errNotJSON
			}
		}
		return fmt.Errorf("is an object with %q", names)
	case '[':
		_, _ = d.ReadToken()
		want, err := strconv.Atoi(name)
		n := 0
		for ; d.PeekKind() != ']'; n++ {
			if err == nil && n == want {
				return nil
			}
			if d.SkipValue() != nil {
				return errNotJSON
			}
		}
		return fmt.Errorf("is a list of %d", n)
	case 0:
		return errNotJSON
	}
	return errors.New("is neither an object nor a list")
}

// maxFields bounds the fields that are selected: an object is read for each of them.
const maxFields = 50

// selectFields keeps the named members of an object, or of each object in a list. A name may be a
// pointer into the object.
func selectFields(ctx context.Context, value []byte, fields []string) ([]byte, error) {
	if n := len(fields); n > maxFields {
		return nil, fmt.Errorf("%d fields are selected, and at most %d may be", n, maxFields)
	}
	d := jsontext.NewDecoder(bytes.NewReader(value), lenient...)
	switch d.PeekKind() {
	case '{':
		return selectMembers(value, fields)
	case '[':
		_, _ = d.ReadToken()
		out := []byte{'['}
		for d.PeekKind() != ']' {
			item, err := d.ReadValue()
			switch {
			case err != nil:
				return nil, errNotJSON
			case ctx.Err() != nil:
				return nil, ctx.Err()
			case len(out) > maxFilled:
				return nil, errManyFields
			}
			if len(out) > 1 {
				out = append(out, ",\n"...)
			}
			picked := []byte(item)
			if item.Kind() == '{' {
				if picked, err = selectMembers(item, fields); err != nil {
					return nil, err
				}
			}
			out = append(out, picked...)
		}
		return append(out, ']'), nil
	}
	return nil, errors.New("fields are of an object or of a list of objects")
}

// errManyFields is the error of fields that select a part of a result several times.
var errManyFields = fmt.Errorf("the fields have more than %d MiB: select fewer", maxFilled>>20)

// selectMembers returns an object with these fields of another one, without those that it does not
// have.
func selectMembers(object []byte, fields []string) ([]byte, error) {
	out := []byte{'{'}
	for _, f := range fields {
		pointer := f
		if !strings.HasPrefix(f, "/") {
			pointer = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(f)
		}
		value, err := Value(object, pointer)
		if err != nil {
			continue // items need not have all members
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		name, err := jsontext.AppendQuote(nil, f)
		if err != nil {
			return nil, err
		}
		if len(out)+len(value) > maxFilled {
			return nil, errManyFields
		}
		out = append(append(append(out, name...), ':'), value...)
	}
	return append(out, '}'), nil
}

// pointersAt returns the pointers of the objects or lists that contain the offsets, which are in
// ascending order, or nothing if the data is not JSON.
func pointersAt(data []byte, offsets []int) []string {
	d := jsontext.NewDecoder(bytes.NewReader(data), lenient...)
	var found []string
	for len(found) < len(offsets) {
		if _, err := d.ReadToken(); err != nil {
			return nil
		}
		for len(found) < len(offsets) && d.InputOffset() > int64(offsets[len(found)]) {
			at := d.StackPointer()
			if _, n := d.StackIndex(d.StackDepth()); n > 0 && at != "" { // within a member, not at the start of its container
				at = at.Parent()
			}
			found = append(found, string(at))
		}
	}
	return found
}
