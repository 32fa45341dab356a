package openaimodel

import (
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpchain/mcpchain/internal/chat"
)

// refusesThoughts reports whether the host refuses thoughts that another key, or another host, has encrypted.
func refusesThoughts(err error) bool {
	e, ok := errors.AsType[*chat.Error](err)
	return ok && e.Status == http.StatusBadRequest &&
		(e.Code == "invalid_encrypted_content" || strings.Contains(strings.ToLower(e.Message), "encrypted content"))
}

// refused are the thoughts of a conversation that its host refuses.
type refused map[string]bool

// add notes the thoughts in messages as refused, and takes them out. It reports whether there are any.
func (r refused) add(messages []chat.Message) bool {
	for i := range messages {
		for _, item := range messages[i].Items {
			if item.Raw != nil {
				r[string(item.Raw)] = true
			}
		}
	}
	return r.leaveOut(messages)
}

// leaveOut takes refused thoughts out of messages, and reports whether there are any.
func (r refused) leaveOut(messages []chat.Message) (found bool) {
	if len(r) == 0 {
		return false
	}
	for i := range messages {
		before := len(messages[i].Items)
		messages[i].Items = slices.DeleteFunc(messages[i].Items, func(item chat.Item) bool { return item.Raw != nil && r[string(item.Raw)] })
		found = found || len(messages[i].Items) < before
	}
	return found
}
