/* The one function of bcryptprimitives.dll that Go's runtime calls, by its older name. */
#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID buffer, ULONG size); /* RtlGenRandom, of advapi32.dll */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE buffer, SIZE_T size)
{
	while (size > 0) {
		ULONG part = size < 0x10000000 ? (ULONG)size : 0x10000000;
		if (!SystemFunction036(buffer, part))
			return FALSE;
		buffer += part;
		size -= part;
	}
	return TRUE;
}
