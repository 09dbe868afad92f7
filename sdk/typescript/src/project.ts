/** The project of a call: the git repository that contains its directory. */

import { lstatSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, sep } from "node:path";

/** How many folders are looked at. */
const MAX_LEVELS = 64;

/** The repository of `cwd`, else of the process's working directory. */
export function defaultProject(cwd: string | undefined): string | undefined {
  try {
    return gitRoot(cwd === undefined || cwd === "" ? process.cwd() : cwd);
  } catch {
    return undefined;
  }
}

function gitRoot(start: string): string | undefined {
  if (!isAbsolute(start)) return undefined;
  const home = homedir();
  let folder = start;
  for (let level = 0; level < MAX_LEVELS; level += 1) {
    const parent = dirname(folder);
    // The home folder, the folders above it and the root are never a project.
    if (parent === folder || `${home}${sep}`.startsWith(`${folder}${sep}`)) return undefined;
    if (lstatSync(join(folder, ".git"), { throwIfNoEntry: false }) !== undefined) return folder;
    folder = parent;
  }
  return undefined;
}
