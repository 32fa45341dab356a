package eventfeed

// Size is how many runs are in memory, and how large their events are.
func (f *Feed) Size() (streams, size int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	sum := 0
	for _, s := range f.streams {
		sum += s.size
	}
	if sum != f.size {
		return len(f.streams), -1
	}
	return len(f.streams), f.size
}

// HasRecord is hasRecord.
var HasRecord = hasRecord
