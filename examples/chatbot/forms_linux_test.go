package main

import "testing"

// What was typed into a form stays there: after Esc at the same place, and after "edit" from the
// first field. A default is a text in its field, and a key right after Enter is for the next field.
func TestFormKeepsWhatWasTyped(t *testing.T) {
	m := openScreen(t)
	m.enter("you ›", "Book a table for 4\r")
	m.enter("[y]es", "y")
	m.enter("Enter goes on", "2030-05-01\r25:00\r")
	m.await("✗ want hours:minutes, such as 19:30\n")
	m.typed("\x15" + "19:00\r")
	m.await("┃ Number")
	m.golden("form-default")
	m.typed("\r")
	m.enter("┃ Where", "\x1b")
	m.enter("Leave the form?  [b]ack", "b")
	m.await("Leave the form? back to it\n")
	m.await("┃ Where")
	m.enter("Esc leaves the form", "\r\rquiet\r")
	m.enter("Send this to demo?  [y]es", "e")
	m.await("Send this to demo? edit\n")
	m.enter("Enter goes on", "\x7f2\r")
	m.await("› 2030-05-02\n")
	m.await("┃ Time\n")
	m.await("› 19:00\n")
	m.typed("\r\r\r\r\r")
	m.await("Date: 2030-05-02\n")
	m.await("Note to the kitchen: quiet\n")
	m.enter("Send this to demo?  [y]es", "y")
	m.await("Booked: a table")
	m.leave()
}
