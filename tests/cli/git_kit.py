"""Repositories that tests make, and what must not change of them."""
import os
import shutil
import subprocess

from harness import HOME, Skip, environment


def git(*arguments, cwd):
    done = subprocess.run(['git', '-c', 'user.name=t', '-c', 'user.email=t@example.org', '-c', 'protocol.file.allow=always',
                           *arguments], cwd=cwd, capture_output=True, env=environment(GIT_CONFIG_NOSYSTEM='1'))
    assert done.returncode == 0, (arguments, done.stderr)
    return done.stdout.decode().strip()


def write(repo, name, text, mode=0o644):
    path = repo / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    path.chmod(mode)


def repository(name, *versions):
    """A repository with a commit for each version, which is a table of files; tags v0, v1, ..."""
    if not shutil.which('git'):
        raise Skip('no git')
    repo = HOME / name
    repo.mkdir(parents=True)
    git('init', '-q', cwd=repo)
    for number, files in enumerate(versions):
        for path, text in files.items():
            write(repo, path, text, 0o755 if isinstance(text, str) else 0o644)
        git('add', '-A', cwd=repo)
        git('commit', '-q', '--allow-empty', '-m', f'version {number}', cwd=repo)
        git('tag', f'v{number}', cwd=repo)
    return repo


def state(repo):
    """All that must not change: files, index, branches, stashes, worktrees."""
    files = {str(p.relative_to(repo)): p.read_bytes() for p in sorted(repo.rglob('*'))
             if p.is_file() and '.git' not in p.relative_to(repo).parts}
    return (files, git('status', '--porcelain', cwd=repo), git('for-each-ref', cwd=repo), git('stash', 'list', cwd=repo),
            git('symbolic-ref', 'HEAD', cwd=repo), git('worktree', 'list', '--porcelain', cwd=repo),
            sorted(os.listdir(repo / '.git')))
