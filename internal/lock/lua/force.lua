-- Frees a lock, no matter who has it, and wakes those who wait for it. Its holders learn of it when they renew or
-- look next. After holds.lua and the preludes that say who is woken (wake).
--
-- KEYS     as for release.lua
-- ARGV[1]  channel, as for release.lua
--
-- Returns  1  it was held
--          0  it was free; nothing was changed, nothing was published

if redis.call('UNLINK', KEYS[1]) == 0 then
  return 0
end
if KEYS[1] == KEYS[8] then
  redis.call('UNLINK', KEYS[9])
end
wake(ARGV[1], clock())
return 1
