// Package uritemplate expands a peer's URI templates (RFC 6570, all levels) with string values.
package uritemplate

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
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

// operators are named by the first character of an expression.
var operators = map[string]operator{
	"":  {sep: ","},
	"+": {sep: ",", reserved: true},
	"#": {first: "#", sep: ",", reserved: true},
	".": {first: ".", sep: "."},
	"/": {first: "/", sep: "/"},
	";": {first: ";", sep: ";", named: true},
	"?": {first: "?", sep: "&", named: true, ifEmpty: "="},
	"&": {first: "&", sep: "&", named: true, ifEmpty: "="},
}

var (
	expression = regexp.MustCompile(`^([+#./;?&]?)([^=,!@|].*)$`) // the other operators are reserved

	// variable matches a name, then the most characters of its value, or the star of a list.
	variable = regexp.MustCompile(`^((?:\w|%[0-9A-Fa-f]{2})+(?:\.(?:\w|%[0-9A-Fa-f]{2})+)*)(?::([1-9]\d{0,3})|\*)?$`)
)

var errTooLong = fmt.Errorf("expands to more than %d bytes", MaxExpansion)

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
		if out = appendEncoded(out, literal, true); len(out) > MaxExpansion {
			return "", errTooLong
		}
		if !found {
			break
		}
		inside, rest, closed := strings.Cut(rest, "}")
		if !closed {
			return "", errors.New(`a "{" without a "}"`)
		}
		var err error
		if out, err = appendExpression(out, inside, values); err != nil {
			return "", err
		}
		template = rest
	}
	return string(out), nil
}

// appendExpression appends the expansion of the text between braces.
func appendExpression(out []byte, text string, values map[string]string) ([]byte, error) {
	parts := expression.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("expression %.100q names no variable, or has a reserved operator", text)
	}
	op := operators[parts[1]]
	next := op.first
	for spec := range strings.SplitSeq(parts[2], ",") {
		v := variable.FindStringSubmatch(spec)
		if v == nil {
			return nil, fmt.Errorf("variable %.100q: want a name of letters, digits, _ and %%XX, and after it *, or : and 1 to 9999", spec)
		}
		name := v[1]
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
		if most, err := strconv.Atoi(v[2]); err == nil {
			characters := []rune(value)
			value = string(characters[:min(most, len(characters))])
		}
		out = appendEncoded(out, value, op.reserved)
		if len(out) > MaxExpansion {
			return nil, errTooLong
		}
	}
	return out, nil
}

// triplet matches a character that is percent-encoded already.
var triplet = regexp.MustCompile(`^%[0-9A-Fa-f]{2}`)

// appendEncoded appends s. It percent-encodes all but unreserved characters; if reserved characters
// are allowed, all but characters of a URI.
func appendEncoded(out []byte, s string, reserved bool) []byte {
	for i := range len(s) {
		c := s[i]
		switch {
		case c >= '0' && c <= '9', c|0x20 >= 'a' && c|0x20 <= 'z', strings.IndexByte("-._~", c) >= 0,
			reserved && strings.IndexByte(":/?#[]@!$&'()*+,;=", c) >= 0, reserved && c == '%' && triplet.MatchString(s[i:]):
			out = append(out, c)
		default:
			out = fmt.Appendf(out, "%%%02X", c)
		}
	}
	return out
}
