package child

import (
	"cmp"
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

	mu  sync.Mutex
	job windows.Handle // zero after release
}

// startGroup starts a process that does nothing before it is in its job: what it starts belongs to the job, too.
func startGroup(cmd *exec.Cmd) (*group, error) {
	job, err := newJob()
	if err != nil {
		return nil, fmt.Errorf("make a job object: %v", err)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		HideWindow:    true,
		CreationFlags: windows.CREATE_SUSPENDED | windows.CREATE_NEW_PROCESS_GROUP, // Ctrl-C is meant only for this process
	}
	if err := cmd.Start(); err != nil {
		_ = windows.CloseHandle(job)
		return nil, err
	}
	g := &group{process: cmd.Process, job: job}
	if err := g.begin(); err != nil {
		g.release()
		_ = cmd.Wait()
		return nil, err
	}
	return g, nil
}

// newJob makes a job that ends its members when its last handle is closed.
func newJob() (windows.Handle, error) {
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{
			LimitFlags: windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
		},
	}
	if _, err := windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info))); err != nil {
		_ = windows.CloseHandle(job)
		return 0, err
	}
	return job, nil
}

// resumeProcess takes the handle of a process. ResumeThread would need that of its thread, which os/exec does not return.
var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// begin puts the suspended process into the job, and then resumes it.
func (g *group) begin() (err error) {
	unusable := g.process.WithHandle(func(handle uintptr) {
		if failed := windows.AssignProcessToJobObject(g.job, windows.Handle(handle)); failed != nil {
			err = fmt.Errorf("put the process into a job object: %v", failed)
			return
		}
		if status, _, _ := resumeProcess.Call(handle); status != 0 {
			err = fmt.Errorf("resume the process: %v", windows.NTStatus(status))
		}
	})
	return cmp.Or(unusable, err)
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

// release closes the last handle to the job, which ends the remaining members.
func (g *group) release() {
	g.kill()
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.job != 0 {
		_ = windows.CloseHandle(g.job)
		g.job = 0
	}
}
