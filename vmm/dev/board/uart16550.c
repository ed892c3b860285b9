/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The guest's console: a 16550A at 0x3f8 (National Semiconductor PC16550D
 * data sheet, section 8) on the host's serial line. The line is slower than
 * the guest: bytes that the host does not take wait in the transmitter FIFO
 * and THRE stays off until it does. Input waits in a queue behind the FIFO.
 */
#include "vmm/dev/board/uart_rx.h"
#include "vmm/vm/intc.h"
#include "vmm/guest_platform.h"
#include "vmm/slots/output_log.h"
#include "vmm/vm/ranges.h"
#include "vmm/vcpu.h"
#include "vmm/vm/vdev.h"
#include "vmm/vm.h"

/* Registers; 0 and 1 are the divisor latch while DLAB is set. */
enum { UART_DATA, UART_IER, UART_IIR_FCR, UART_LCR, UART_MCR, UART_LSR, UART_MSR, UART_SCR };

#define IER_RX BIT(0)
#define IER_THRE BIT(1)
#define IER_LINE BIT(2)
#define IER_MODEM BIT(3)
#define IIR_NONE 0x01
#define IIR_MODEM 0x00
#define IIR_THRE 0x02
#define IIR_RX 0x04
#define IIR_LINE 0x06
#define IIR_TIMEOUT 0x0c
#define IIR_FIFOS 0xc0
#define FCR_ENABLE BIT(0)
#define FCR_CLEAR_RX BIT(1)
#define FCR_CLEAR_TX BIT(2)
#define LCR_DLAB BIT(7)
#define MCR_DTR BIT(0)
#define MCR_RTS BIT(1)
#define MCR_OUT1 BIT(2)
#define MCR_OUT2 BIT(3)
#define MCR_LOOP BIT(4)
#define LSR_DR BIT(0)
#define LSR_OE BIT(1)
#define LSR_FE BIT(3)
#define LSR_BI BIT(4)
#define LSR_THRE BIT(5)
#define LSR_TEMT BIT(6)
#define LSR_FIFO_ERROR BIT(7)
#define MSR_TERI BIT(2)
#define MSR_CTS BIT(4)
#define MSR_DSR BIT(5)
#define MSR_RI BIT(6)
#define MSR_DCD BIT(7)

#define FIFO_SIZE 16

struct uart {
	struct vm *vm;
	struct host_console con;
	struct spinlock lock; /* guards everything below */
	bool live;            /* the VM's interrupt controller exists: vCPU 0 runs */
	bool high;            /* the interrupt line, as the controller has it */
	u8 ier;
	u8 fcr;
	u8 lcr;
	u8 mcr;
	u8 scr;
	u8 dll;
	u8 dlm;
	u8 modem_deltas; /* MSR bits 3:0 */
	bool thre_pending; /* THRE interrupt not yet taken note of */
	u8 tx[FIFO_SIZE];
	unsigned tx_count;
	struct uart_rx rx;
};

static unsigned fifo_size(const struct uart *u)
{
	return u->fcr & FCR_ENABLE ? FIFO_SIZE : 1;
}

static u8 modem_lines(const struct uart *u)
{
	if (!(u->mcr & MCR_LOOP))
		return MSR_CTS | MSR_DSR | MSR_DCD;
	return (u->mcr & MCR_RTS ? MSR_CTS : 0) | (u->mcr & MCR_DTR ? MSR_DSR : 0) |
	       (u->mcr & MCR_OUT1 ? MSR_RI : 0) | (u->mcr & MCR_OUT2 ? MSR_DCD : 0);
}

/* Highest pending interrupt by the priorities of table III. */
static u8 interrupt_id(const struct uart *u)
{
	static const u8 trigger[4] = { 1, 4, 8, 14 };

	if (u->ier & IER_LINE && (u->rx.overrun || rx_break_next(&u->rx)))
		return IIR_LINE;
	if (u->ier & IER_RX && u->rx.count) {
		/*
		 * Below the trigger level the character timeout counts as over: nothing waits on
		 * this line.
		 */
		bool full = !(u->fcr & FCR_ENABLE) || u->rx.count >= trigger[u->fcr >> 6];

		return full ? IIR_RX : IIR_TIMEOUT;
	}
	if (u->ier & IER_THRE && u->thre_pending)
		return IIR_THRE;
	if (u->ier & IER_MODEM && u->modem_deltas)
		return IIR_MODEM;
	return IIR_NONE;
}

/* Drives the interrupt line; on a PC OUT2 gates it, and loopback holds OUT2 off. */
static void update_line(struct uart *u)
{
	bool open = (u->mcr & (MCR_OUT2 | MCR_LOOP)) == MCR_OUT2;
	bool high = open && interrupt_id(u) != IIR_NONE;

	if (!u->live || high == u->high)
		return;
	u->high = high;
	u->vm->intc->line(u->vm, GUEST_UART_GSI, high);
}

/* Hands waiting bytes to the host; an emptied transmitter asks for more. */
static void tx_flush(struct uart *u)
{
	size_t sent;

	if (!u->tx_count)
		return;
	sent = host_console_write(&u->con, u->tx, u->tx_count);
	output_log_put(u->vm->id, u->tx, sent);
	if (sent < u->tx_count) {
		u->tx_count -= sent;
		for (unsigned i = 0; i < u->tx_count; i++)
			u->tx[i] = u->tx[i + sent];
	} else {
		u->tx_count = 0;
		u->thre_pending = true;
	}
}

static void tx_byte(struct uart *u, u8 byte)
{
	/* The line falls in between, so that THRE comes as a new edge. */
	u->thre_pending = false;
	update_line(u);
	if (u->mcr & MCR_LOOP) {
		rx_push(&u->rx, byte, fifo_size(u));
		u->thre_pending = true;
		return;
	}
	if (u->tx_count == fifo_size(u))
		return; /* written without a look at THRE: lost, as in hardware */
	u->tx[u->tx_count++] = byte;
	tx_flush(u);
}

static void write_fcr(struct uart *u, u8 value)
{
	bool toggled = (value ^ u->fcr) & FCR_ENABLE;

	if (toggled || value & FCR_CLEAR_RX)
		u->rx.count = 0;
	if ((toggled || value & FCR_CLEAR_TX) && u->tx_count) {
		u->tx_count = 0;
		u->thre_pending = true;
	}
	/* The other bits are only programmed together with the enable bit. */
	u->fcr = value & FCR_ENABLE ? value & (IIR_FIFOS | FCR_ENABLE) : 0;
}

static void write_mcr(struct uart *u, u8 value)
{
	u8 before = modem_lines(u), changed;

	u->mcr = value & 0x1f;
	changed = before ^ modem_lines(u);
	/* RI reports its trailing edge only. */
	if (!(before & MSR_RI))
		changed &= (u8)~MSR_RI;
	u->modem_deltas |= changed >> 4;
}

/* Tells of errors once: of an overrun, and of a BREAK when its byte is the next. */
static u8 read_lsr(struct uart *u)
{
	u8 value;

	/* A guest that polls need not wait for tx_room(). */
	tx_flush(u);
	value = (u->rx.count ? LSR_DR : 0) | (u->rx.overrun ? LSR_OE : 0) |
		(u->tx_count ? 0 : LSR_THRE | LSR_TEMT) |
		(rx_break_next(&u->rx) ? LSR_BI | LSR_FE : 0);
	if (u->fcr & FCR_ENABLE && rx_break_in(&u->rx, FIFO_SIZE))
		value |= LSR_FIFO_ERROR;
	rx_told(&u->rx);
	return value;
}

static u8 read_reg(struct uart *u, u16 reg)
{
	u8 value;

	switch (reg) {
	case UART_DATA: return u->lcr & LCR_DLAB ? u->dll : rx_pop(&u->rx);
	case UART_IER: return u->lcr & LCR_DLAB ? u->dlm : u->ier;
	case UART_IIR_FCR:
		value = interrupt_id(u);
		if (value == IIR_THRE)
			u->thre_pending = false;
		return value | (u->fcr & FCR_ENABLE ? IIR_FIFOS : 0);
	case UART_LCR: return u->lcr;
	case UART_MCR: return u->mcr;
	case UART_LSR: return read_lsr(u);
	case UART_MSR:
		value = modem_lines(u) | u->modem_deltas;
		u->modem_deltas = 0;
		return value;
	default: return u->scr;
	}
}

static void write_reg(struct uart *u, u16 reg, u8 value)
{
	switch (reg) {
	case UART_DATA:
		if (u->lcr & LCR_DLAB)
			u->dll = value;
		else
			tx_byte(u, value);
		break;
	case UART_IER:
		if (u->lcr & LCR_DLAB) {
			u->dlm = value;
			break;
		}
		/* Switching it on with an empty transmitter raises THRE at once. */
		if (value & ~u->ier & IER_THRE && !u->tx_count)
			u->thre_pending = true;
		u->ier = value & 0xf;
		break;
	case UART_IIR_FCR: write_fcr(u, value); break;
	case UART_LCR: u->lcr = value; break;
	case UART_MCR: write_mcr(u, value); break;
	case UART_SCR: u->scr = value; break;
	}
}

static u32 pio_read(void *dev, struct vcpu *, u16 offset, unsigned)
{
	struct uart *u = dev;
	u8 value;

	spin_lock(&u->lock);
	value = read_reg(u, offset);
	update_line(u);
	spin_unlock(&u->lock);
	return value;
}

static void pio_write(void *dev, struct vcpu *, u16 offset, unsigned, u32 value)
{
	struct uart *u = dev;

	spin_lock(&u->lock);
	write_reg(u, offset, (u8)value);
	update_line(u);
	spin_unlock(&u->lock);
}

static const struct pio_ops uart_pio_ops = { .sizes = 1, .read = pio_read, .write = pio_write };

/* For the UART, unless what is typed goes to the virtio console; that gets `other`. */
static void line_in(struct host_console *con, u16 byte, u8 other)
{
	struct uart *u = container_of(con, struct uart, con);
	struct second_console *second = vm_second(u->vm);

	if (second && second->rx(second, other))
		return;
	spin_lock(&u->lock);
	/* In loopback the receiver is cut off from the line. */
	if (!(u->mcr & MCR_LOOP))
		rx_push(&u->rx, byte, RX_QUEUE);
	update_line(u);
	spin_unlock(&u->lock);
}

static void console_rx(struct host_console *con, u8 byte)
{
	line_in(con, byte, byte);
}

/*
 * What Linux' driver of the virtio console, which has no BREAK, takes for SysRq instead
 * (drivers/tty/hvc/hvc_console.c).
 */
#define CTRL_O 0x0f

static void console_rx_break(struct host_console *con)
{
	line_in(con, RX_BREAK, CTRL_O);
}

static void console_tx_room(struct host_console *con)
{
	struct uart *u = container_of(con, struct uart, con);
	struct second_console *second = vm_second(u->vm);

	spin_lock(&u->lock);
	tx_flush(u);
	update_line(u);
	spin_unlock(&u->lock);
	if (second)
		second->tx_room(second);
}

static_assert(sizeof(struct uart) <= PAGE_SIZE, "one page");

static int uart_create(struct vm *vm, void **instance)
{
	struct uart *u = *instance = host_pages_alloc(1, -1);
	int err;

	if (!u)
		return host_no_memory(vm->name);
	u->vm = vm;
	u->con.name = vm->name;
	u->con.rx = console_rx;
	u->con.rx_break = console_rx_break;
	u->con.tx_room = console_tx_room;
	u->dll = 1; /* 115200 */
	err = vm_register_pio(vm, GUEST_UART_PORT, GUEST_UART_PORTS, &uart_pio_ops, u);
	if (err)
		return err;
	/*
	 * Here, and not when a vCPU starts: of the VMs that boot together the first one has the
	 * operator's line.
	 */
	host_console_add(&u->con);
	vm->console = &u->con;
	return 0;
}

static void uart_destroy(struct vm *vm, void *instance)
{
	struct host_console *con = vm->console;

	vm->console = NULL;
	if (con)
		host_console_remove(con);
	host_pages_free(instance, 1);
}

static void set_live(struct vcpu *vcpu, struct uart *u, bool live)
{
	if (vcpu->id != 0)
		return;
	spin_lock(&u->lock);
	u->live = live;
	spin_unlock(&u->lock);
}

static void uart_vcpu_start(struct vcpu *vcpu, void *instance)
{
	set_live(vcpu, instance, true);
}

static void uart_vcpu_stop(struct vcpu *vcpu, void *instance)
{
	set_live(vcpu, instance, false);
}

static const struct vdev uart_vdev = {
	.create = uart_create,
	.destroy = uart_destroy,
	.vcpu_start = uart_vcpu_start,
	.vcpu_stop = uart_vcpu_stop,
};
VDEV(uart_vdev);
