package child

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// group is a job object: all descendants of the process belong to it and end
// with it, even if this process is killed.
type group struct {
	process *os.Process
	joinErr error // why the process is in no job

	mu  sync.Mutex
	job windows.Handle // zero if the process is in no job, or after release
}

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_NEW_PROCESS_GROUP, // Ctrl-C is meant only for this process
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	job, err := newJob(cmd.Process)
	return &group{process: cmd.Process, joinErr: err, job: job}, nil
}

// newJob makes a job and puts the process into it. Children that the process
// started before, within some microseconds, are not in it. A process that has
// exited already cannot join: newJob returns zero, as Wait reports its end.
func newJob(p *os.Process) (job windows.Handle, err error) {
	job, err = windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	defer func() {
		if err != nil {
			windows.CloseHandle(job)
			job = 0
		}
	}()
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		return job, err
	}
	var joinErr error
	exited := false
	if err := p.WithHandle(func(handle uintptr) {
		process := windows.Handle(handle)
		joinErr = windows.AssignProcessToJobObject(job, process)
		event, _ := windows.WaitForSingleObject(process, 0)
		exited = event == windows.WAIT_OBJECT_0
	}); err != nil {
		return job, err
	}
	if joinErr != nil && exited {
		windows.CloseHandle(job)
		return 0, nil
	}
	return job, joinErr
}

// alive reports whether the job has running members. If the system does not tell, it has.
func (g *group) alive() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return false
	}
	var info accounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err != nil || info.ActiveProcesses > 0
}

type accounting struct {
	TotalUserTime, TotalKernelTime, ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime int64

	TotalPageFaultCount, TotalProcesses, ActiveProcesses, TotalTerminatedProcesses uint32
}

func (g *group) runs() bool { return g.alive() }

func (g *group) terminate() { g.kill() }

// kill ends all members. They end a moment later.
func (g *group) kill() {
	_ = g.process.Kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.TerminateJobObject(g.job, 1)
	}
}

// release closes the last handle to the job, which ends the remaining members. It returns an
// error if descendants could not be ended because there was no job.
func (g *group) release() error {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
	if g.joinErr != nil {
		return fmt.Errorf("descendants may still run, as the process was in no job object: %w", g.joinErr)
	}
	return nil
}
