"""The side of the sandbox: what runs in the student's process, and nothing that knows an answer.

A process that has imported torch, the zygote, waits for submissions. For each it forks a keeper, which
watches, and the keeper forks the guest, which locks itself in (`isolation`), runs the student's file
(`running`) and then calls what the judge outside asks for (`serving`). These files import torch and each
other alone; once they are loaded, no module of regard can be imported in the process any more.
"""
