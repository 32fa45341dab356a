package prose

import "encoding/json"

// Node is an element, or text if Tag is empty.
type Node struct {
	Tag      string
	Attrs    map[string]string // href, start
	Children []Node
	Text     string
}

func element(tag string, children ...Node) Node { return Node{Tag: tag, Children: children} }

// MarshalJSON writes text as a string, and an element as an array of its tag, attributes and
// children.
func (n Node) MarshalJSON() ([]byte, error) {
	if n.Tag == "" {
		return json.Marshal(n.Text)
	}
	attrs := n.Attrs
	if attrs == nil {
		attrs = map[string]string{}
	}
	parts := make([]any, 0, 2+len(n.Children))
	parts = append(parts, n.Tag, attrs)
	for _, child := range n.Children {
		parts = append(parts, child)
	}
	return json.Marshal(parts)
}
