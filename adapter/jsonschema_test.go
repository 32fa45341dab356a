package adapter

// root returns the schema of the tool's server.
func (t *Tool) root() map[string]any { return t.input.Root() }

// valid returns an error if arguments do not fit the tool's schema without repair.
func (t *Tool) valid(arguments []byte) error {
	_, err := t.input.Check(arguments)
	return err
}

// maxHops bounds the references from one subschema to the next.
const maxHops = 16

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// typeNames returns the types that a type keyword names.
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
