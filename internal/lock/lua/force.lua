-- Frees a lock, no matter who has it, and wakes its waiters. Its holders notice at their next renewal or check. Follows
-- holds.lua and the preludes that decide who is woken (wake).
--
-- KEYS     as for release.lua
-- ARGV[1]  channel, as for release.lua
--
-- Returns  1  the lock was held
--          0  it was free; nothing was changed or published

if redis.call('UNLINK', KEYS[1]) == 0 then
  return 0
end
if KEYS[1] == KEYS[8] then
  redis.call('UNLINK', KEYS[9])
end
wake(ARGV[1], clock())
return 1
