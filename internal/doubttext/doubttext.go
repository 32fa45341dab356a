// Package doubttext holds the phrases that tell a model that a call may have had an effect although
// it has no result. All texts about such calls are made of them, so that programs can recognize the
// texts.
package doubttext

import "strings"

// The phrases. Each is a part of a sentence about the call or its tool.
const (
	MayHaveRun   = "may or may not have run"
	Unknown      = "unknown whether the call ran"
	StillRunning = "may still be running"
	PartlyDone   = "may have done a part of it"
	MayHaveActed = "may have acted"
)

// In reports whether a result says that the call may have had an effect.
func In(text string) bool {
	for _, phrase := range []string{MayHaveRun, Unknown, StillRunning, PartlyDone, MayHaveActed} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}
