package adapter

// root is the tool's schema, as the server wrote it.
func (t *Tool) root() map[string]any { return t.input.Root() }

// valid reports why arguments do not fit the tool's schema as they are.
func (t *Tool) valid(arguments []byte) error {
	_, err := t.input.Check(arguments)
	return err
}

// maxHops bounds the references that are followed from one subschema to the next.
const maxHops = 16

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// typeNames lists the types that a "type" keyword names.
func typeNames(v any) []string {
	if name, ok := v.(string); ok {
		return []string{name}
	}
	return stringList(v)
}

func stringList(v any) []string {
	var out []string
	for _, item := range list(v) {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
