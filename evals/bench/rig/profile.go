package rig

import (
	"errors"
	"os"
	"runtime/pprof"
)

// Profile begins a profile of CPU time and one of allocations, into files; "" for none. stop
// writes them.
func Profile(cpu, memory string) (stop func() error, err error) {
	var f *os.File
	if cpu != "" {
		if f, err = os.Create(cpu); err != nil {
			return nil, err
		}
		if err := pprof.StartCPUProfile(f); err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return func() (err error) {
		if f != nil {
			pprof.StopCPUProfile()
			err = f.Close()
		}
		if memory != "" {
			err = errors.Join(err, writeAllocations(memory))
		}
		return err
	}, nil
}

func writeAllocations(file string) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(pprof.Lookup("allocs").WriteTo(f, 0), f.Close())
}
