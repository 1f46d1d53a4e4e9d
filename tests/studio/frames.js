() => new Promise((done) => {
  const moves = MOVES, times = []; let i = 0;
  const next = (now) => { times.push(now); if (i < moves.length) { moves[i++](); requestAnimationFrame(next); } else done(times.slice(1).map((t, j) => t - times[j])); };
  requestAnimationFrame(next);
})
