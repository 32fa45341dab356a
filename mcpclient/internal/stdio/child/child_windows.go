package child

import (
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
	// A process that has exited already cannot join a job: its end is reported
	// by Wait, so this is not a failure.
	job, _ := newJob(cmd.Process.Pid)
	return &group{process: cmd.Process, job: job}, nil
}

// newJob makes a job and puts the process into it. Children that the process
// started before, within some microseconds, are not in it.
func newJob(pid int) (job windows.Handle, err error) {
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
	process, err := windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(pid))
	if err != nil {
		return job, err
	}
	defer windows.CloseHandle(process)
	return job, windows.AssignProcessToJobObject(job, process)
}

// alive reports whether the job has running members.
func (g *group) alive() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job == 0 {
		return false
	}
	var info accounting
	err := windows.QueryInformationJobObject(g.job, windows.JobObjectBasicAccountingInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)), nil)
	return err == nil && info.ActiveProcesses > 0
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
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

// release closes the last handle to the job, which ends the remaining members.
func (g *group) release() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}
