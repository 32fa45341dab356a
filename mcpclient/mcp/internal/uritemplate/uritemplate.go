// Package uritemplate expands a peer's URI templates (RFC 6570, all levels) with string values.
package uritemplate

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds, in bytes.
const (
	MaxTemplate  = 8 << 10
	MaxExpansion = 1 << 20
)

// operator defines how to join and encode the values of an expression: RFC 6570, appendix A.
type operator struct {
	first, sep string
	named      bool
	ifEmpty    string // after the name of an empty value
	reserved   bool   // reserved characters stay unchanged
}

// operatorOf returns the operator that begins an expression, and its length.
func operatorOf(expression string) (op operator, size int, err error) {
	switch expression[0] {
	case '+':
		return operator{sep: ",", reserved: true}, 1, nil
	case '#':
		return operator{first: "#", sep: ",", reserved: true}, 1, nil
	case '.', '/':
		return operator{first: expression[:1], sep: expression[:1]}, 1, nil
	case ';':
		return operator{first: ";", sep: ";", named: true}, 1, nil
	case '?', '&':
		return operator{first: expression[:1], sep: "&", named: true, ifEmpty: "="}, 1, nil
	case '=', ',', '!', '@', '|':
		return operator{}, 0, fmt.Errorf("operator %q is reserved", expression[0])
	}
	return operator{sep: ","}, 0, nil
}

// Expand fills in the variables of a template. A variable without a value expands to nothing.
// Characters that a URI does not allow are percent-encoded as UTF-8.
func Expand(template string, values map[string]string) (string, error) {
	if len(template) > MaxTemplate {
		return "", fmt.Errorf("template of %d bytes, more than %d", len(template), MaxTemplate)
	}
	var out []byte
	for template != "" {
		literal, rest, found := strings.Cut(template, "{")
		if strings.Contains(literal, "}") {
			return "", errors.New(`a "}" without a "{"`)
		}
		out = appendEncoded(out, literal, true)
		if template = rest; !found {
			break
		}
		expression, rest, closed := strings.Cut(template, "}")
		if !closed {
			return "", errors.New(`a "{" without a "}"`)
		}
		var err error
		if out, err = appendExpression(out, expression, values); err != nil {
			return "", err
		}
		template = rest
	}
	return string(out), nil
}

// appendExpression appends the expansion of the text between braces.
func appendExpression(out []byte, expression string, values map[string]string) ([]byte, error) {
	if expression == "" {
		return nil, errors.New(`"{}" names no variable`)
	}
	op, size, err := operatorOf(expression)
	if err != nil {
		return nil, err
	}
	next := op.first
	for spec := range strings.SplitSeq(expression[size:], ",") {
		name, limit, err := variable(spec)
		if err != nil {
			return nil, err
		}
		value, ok := values[name]
		if !ok {
			continue
		}
		out = append(out, next...)
		next = op.sep
		if op.named {
			out = append(out, name...)
			if value == "" {
				out = append(out, op.ifEmpty...)
				continue
			}
			out = append(out, '=')
		}
		out = appendEncoded(out, beginning(value, limit), op.reserved)
		if len(out) > MaxExpansion {
			return nil, fmt.Errorf("expands to more than %d bytes", MaxExpansion)
		}
	}
	return out, nil
}

// variable reads the name of a variable and the maximum length of its value in
// characters, 0 for all.
func variable(spec string) (name string, limit int, err error) {
	name, prefix, cut := strings.Cut(strings.TrimSuffix(spec, "*"), ":")
	if cut {
		limit, err = strconv.Atoi(prefix)
		if err != nil || limit < 1 || limit > 9999 || prefix[0] == '+' || strings.HasSuffix(spec, "*") {
			return "", 0, fmt.Errorf("variable %.100q: want a number from 1 to 9999 after the colon", spec)
		}
	}
	for part := range strings.SplitSeq(name, ".") {
		if !isName(part) {
			return "", 0, fmt.Errorf("variable %.100q: want letters, digits, _ and %%XX, with single dots between them", spec)
		}
	}
	return name, limit, nil
}

func isName(s string) bool {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case isAlphanumeric(c), c == '_':
		case isTriplet(s[i:]):
			i += 2
		default:
			return false
		}
	}
	return s != ""
}

// beginning returns the first characters of s, at most limit, or all if limit is 0.
func beginning(s string, limit int) string {
	if limit == 0 {
		return s
	}
	end := 0
	for ; limit > 0 && end < len(s); limit-- {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return s[:end]
}

// appendEncoded appends s. It percent-encodes all but unreserved characters; if
// reserved characters are allowed, all but characters of a URI.
func appendEncoded(out []byte, s string, reserved bool) []byte {
	const digits = "0123456789ABCDEF"
	for i := range len(s) {
		c := s[i]
		if isAlphanumeric(c) || strings.IndexByte("-._~", c) >= 0 ||
			reserved && (strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0 || isTriplet(s[i:])) {
			out = append(out, c)
			continue
		}
		out = append(out, '%', digits[c>>4], digits[c&15])
	}
	return out
}

func isTriplet(s string) bool {
	return len(s) >= 3 && s[0] == '%' && isHex(s[1]) && isHex(s[2])
}

func isHex(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f' }

func isAlphanumeric(c byte) bool { return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' }
