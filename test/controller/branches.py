"""Runs that begin alike: what follows is run in a copy of the process for each."""

import multiprocessing

FORK = multiprocessing.get_context('fork')  # numbers only: neither rclpy nor threads of its own


def branch(run, *arguments):
    """Return what a function returns in a copy of this process; here, nothing has changed."""
    receiver, sender = FORK.Pipe(duplex=False)
    child = FORK.Process(target=lambda: sender.send(run(*arguments)))
    child.start()
    sender.close()
    try:
        return receiver.recv()
    except EOFError:
        raise AssertionError(
            f'{run.__name__}{arguments} raised in its process, see stderr'
        ) from None
    finally:
        child.join()
